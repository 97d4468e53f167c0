// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/fitness/verdict.hpp"

namespace train {

/// Judges devices for RDMA by those of the other hosts, port by port of the same name; a part of
/// `judge`.
///
/// A port is unfit that is not active where at least as many are, or that is slower than most. For
/// hosts with GPUs of NVIDIA it is said where NCCL has to take TCP: no port is active, there is no
/// device and most hosts have one, or libibverbs does not load. That is unfit where it loads on as
/// many other hosts: NCCL does not mix both.
std::vector<HostFinding> judge_rdma(const std::vector<CheckedHost>& hosts);

}  // namespace train
