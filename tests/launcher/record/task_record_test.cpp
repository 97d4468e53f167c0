// SPDX-License-Identifier: Apache-2.0
#include "launcher/record/task_record.hpp"

#include <set>

#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr TaskState all_states[] = {TaskState::starting,    TaskState::running, TaskState::stopping,
                                    TaskState::succeeded,   TaskState::failed,  TaskState::killed,
                                    TaskState::interrupted, TaskState::lost};

}  // namespace

TEST_CASE("states and their names go both ways") {
  for (const TaskState state : all_states) CHECK(task_state_from_string(to_string(state)) == state);
  CHECK(to_string(TaskState::interrupted) == "interrupted");
  CHECK_FALSE(task_state_from_string("Running"));
}

TEST_CASE("of the states that are not final, only the changes of the table are legal") {
  using enum TaskState;
  const std::set<std::pair<TaskState, TaskState>> legal{
      {starting, running}, {starting, stopping}, {running, stopping}};
  for (const TaskState from : {starting, running, stopping})
    for (const TaskState to : {starting, running, stopping}) {
      CAPTURE(to_string(from), to_string(to));
      CHECK(is_legal_change(from, to) == (legal.count({from, to}) == 1));
    }
}

TEST_CASE("any final state may follow any other, since what lies between may not be recorded") {
  for (const TaskState from : all_states)
    for (const TaskState to : all_states) {
      CAPTURE(to_string(from), to_string(to));
      if (is_final(to)) CHECK(is_legal_change(from, to) == !is_final(from));
    }
}

TEST_CASE("a final state is never left") {
  for (const TaskState from : all_states)
    for (const TaskState to : all_states)
      if (is_final(from)) CHECK_FALSE(is_legal_change(from, to));
  CHECK_FALSE(is_final(TaskState::stopping));
  CHECK(is_final(TaskState::lost));
}

TEST_CASE("a task id is eight characters that stand for forty bits") {
  CHECK(make_task_id(0) == "aaaaaaaa");
  CHECK(make_task_id(~std::uint64_t{0}) == "77777777");
  CHECK(make_task_id(std::uint64_t{1} << 39) == "aaaaaaaq");
  CHECK(make_task_id(std::uint64_t{1} << 40) == "aaaaaaaa");
}

TEST_CASE("the ranks of a task are those of its last attempt, out of those of the first") {
  TaskRecord task;
  task.world_size = 2;
  CHECK(most_ranks(task) == 2);
  CHECK(ranks_text(task) == "2");  // of each trial of a search
  task.ranks.resize(3);
  CHECK(most_ranks(task) == 3);
  CHECK(ranks_text(task) == "2 of 3");
}
