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

/// A rank that measures NCCL, with one GPU of its host.
struct AllReduceMember {
  MeetingRank meeting;
  int host = 0;  ///< which one of the task's
  int device = 0;
  std::string library = "libnccl.so.2";
  std::uint64_t largest = std::uint64_t{1} << 30;
  std::vector<std::string> environment = {};
};

/// How long is waited.
struct AllReducePatience {
  milliseconds meeting{60'000};
  milliseconds start{120'000};  ///< for drivers and NCCL: those of eight large GPUs take their time
  milliseconds size{60'000};    ///< for each size; for the first, until all ranks have met
};

/// Measures NCCL's all-reduce: inside each host; of three hosts and more between two, each with
/// three others, and what is slow then once more with nobody beside (`slow_pairs`); and over all.
/// What a host cannot do by itself it is not asked to do with others. Rank 0 gets what all groups
/// have found. Blocks; nothing is waited for without an end. An error names the rank that has not
/// come, or has gone.
Result<std::vector<AllReduceGroup>> measure_allreduce(const DeviceProgram& program,
                                                      const AllReduceMember& own,
                                                      const AllReducePatience& patience = {});

}  // namespace train
