// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/fitness/verdict.hpp"

namespace train {

/// Judges NVIDIA's GPUs by what their driver says of them, and by the other GPUs of their kind; a
/// part of `judge`. By host.
///
/// A GPU is unfit that does not answer, for which the driver wants a reset or a reboot
/// (nvmlDeviceGetGpuRecoveryAction), of which a row of memory could not be replaced, or which has
/// fewer NVLinks up than most of its kind. Errors of memory since the driver was loaded, rows that
/// wait for a reset, a slowdown by heat or power, memory that nobody is seen to use, and an Xid of
/// the last day that is not an application's own fault (NVIDIA, "XID Errors") are said only.
std::vector<HostFinding> judge_devices(const std::vector<CheckedHost>& hosts);

}  // namespace train
