// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/fitness/verdict.hpp"

namespace train {

/// Judges NVIDIA GPUs by the report of their driver, and in comparison to the other GPUs of their
/// kind; a part of `judge`. Findings are sorted by host.
///
/// A GPU is unfit if it does not answer, if the driver recommends a reset or a reboot
/// (nvmlDeviceGetGpuRecoveryAction), if a row of its memory could not be remapped, or if it has
/// fewer NVLinks up than most of its kind. Only reported: memory errors since the driver was
/// loaded, rows that wait for a reset, a slowdown by heat or power, used memory without a visible
/// process, and an Xid of the last day that is not an application's own fault (NVIDIA, "XID
/// Errors").
std::vector<HostFinding> judge_devices(const std::vector<CheckedHost>& hosts);

}  // namespace train
