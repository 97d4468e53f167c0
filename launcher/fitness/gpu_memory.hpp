// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/device_report.hpp"

namespace train {

/// What is in use of the memory of these GPUs, in words: "3.0 of 40.0 GiB of GPU 1 are in use, by
/// process 4711". Empty: of each at most the share `most_used`, or the driver does not say. What
/// the driver keeps for itself does not count, nor what a display server takes.
///
/// @param gpus their UUIDs
std::string memory_in_use(const DeviceReport& report, const std::vector<std::string>& gpus,
                          double most_used);

}  // namespace train
