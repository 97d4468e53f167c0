// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/fitness/verdict.hpp"

namespace train {

/// Judges RDMA devices in comparison to those of the other hosts, by ports of the same name; a part
/// of `judge`.
///
/// A port is unfit if it is not active while it is active on at least as many hosts, or if it is
/// slower than most. For hosts with NVIDIA GPUs, a finding tells if NCCL has to use TCP: no port is
/// active, there is no device while most hosts have one, or libibverbs does not load. The last is
/// unfit if it loads on at least as many other hosts: NCCL does not mix both.
std::vector<HostFinding> judge_rdma(const std::vector<CheckedHost>& hosts);

}  // namespace train
