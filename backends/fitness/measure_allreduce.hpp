// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/accelerator/allreduce_program.hpp"
#include "backends/network/rank_meeting.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/allreduce_report.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// A rank that measures NCCL with one GPU of its host.
struct AllReduceMember {
  MeetingRank meeting;
  int host = 0;  ///< index among the task's hosts
  int device = 0;
  std::string library = "libnccl.so.2";
  std::uint64_t largest = std::uint64_t{1} << 30;
  std::vector<std::string> environment = {};
};

/// How long to wait.
struct AllReducePatience {
  milliseconds meeting{60'000};
  milliseconds start{120'000};  ///< for drivers and NCCL, which are slow with eight large GPUs
  milliseconds size{60'000};    ///< for each size; for the first, until all ranks have met
};

/// Measures NCCL's all-reduce: inside each host; with three hosts or more, between pairs of hosts,
/// each with three others, and slow pairs once more alone (`slow_pairs`); and over all hosts. A
/// host that fails by itself is not measured with others. Rank 0 returns the results of all groups,
/// other ranks an empty list. Blocks; every wait has a limit. An error names the rank that has not
/// come, or has gone.
Result<std::vector<AllReduceGroup>> measure_allreduce(const DeviceProgram& program,
                                                      const AllReduceMember& own,
                                                      const AllReducePatience& patience = {});

}  // namespace train
