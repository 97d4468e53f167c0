// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "launcher/fitness/host_fitness.hpp"

namespace train {

/// How much of a directory is read at most. A single file counts as a directory.
struct DataLimits {
  nanoseconds time = std::chrono::seconds(2);
  std::uint64_t bytes = std::uint64_t{1} << 30;
  int names = 10'000;  ///< files and folders examined
};

/// Reads the files of a directory and of those below it, in the order of names, and measures how
/// long that takes. Bypasses the page cache if the file system supports it (O_DIRECT), else drops
/// the file from it first: so the disk or network behind it is measured. May wait for them.
DataFacts data_facts(std::string directory, const DataLimits& limits = {});

}  // namespace train
