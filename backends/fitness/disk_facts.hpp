// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/fitness/host_fitness.hpp"

namespace train {

/// How full the file system of this folder is, and whether a file can be written there: an unnamed
/// one, or one that is removed at once. May wait for a disk.
DiskFacts disk_facts(std::string use, std::string path);

}  // namespace train
