// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "launcher/fitness/host_fitness.hpp"

namespace train {

/// How much of a directory is read at most. A file alone counts as one.
struct DataLimits {
  nanoseconds time = std::chrono::seconds(2);
  std::uint64_t bytes = std::uint64_t{1} << 30;
  int names = 10'000;  ///< files and folders that are looked at
};

/// Reads the files of a directory and of those below it, by name, and says how long that takes. It
/// reads past the memory of the kernel where the file system can (O_DIRECT), and else has it forget
/// the file first: what is measured is the disk or the network behind it. May wait for them.
DataFacts data_facts(std::string directory, const DataLimits& limits = {});

}  // namespace train
