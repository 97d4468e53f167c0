// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/record/task_record.hpp"

namespace train {

/// A task that runs, of four ranks on two hosts.
inline TaskRecord some_task() {
  TaskRecord task;
  task.id = "abcd2345";
  task.name = "digits";
  task.state = TaskState::running;
  task.slots = "4";
  task.hosts = "node01,node02";
  task.world_size = 4;
  task.user = "alice";
  task.created = 1'000;
  return task;
}

inline RankRecord rank_of(int rank, const std::string& host, const std::string& slots) {
  return {rank, host, slots, {}, {}, false, "/log"};
}

}  // namespace train
