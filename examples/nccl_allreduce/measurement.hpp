// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "examples/nccl_allreduce/communicator.hpp"
#include "examples/nccl_allreduce/figures.hpp"
#include "examples/nccl_allreduce/gpu.hpp"
#include "examples/nccl_allreduce/settings.hpp"
#include "examples/nccl_allreduce/watchdog.hpp"

namespace nccl_allreduce {

/// Measures all sizes, out of place, and checks every sum. `on_row` gets each row when it is known;
/// the rows are the same on all ranks. Fails at the first wrong sum, behind its row.
Result<std::vector<Row>> measure(const Settings& settings, Gpu& gpu, Communicator& ranks,
                                 Watchdog& watchdog, const std::function<void(const Row&)>& on_row);

}  // namespace nccl_allreduce
