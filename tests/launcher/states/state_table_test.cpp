// SPDX-License-Identifier: Apache-2.0
// The transition tables of all machines, and the page that shows them. TRAIN_REGENERATE=1 writes
// that anew.
#include "launcher/states/state_table.hpp"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "launcher/agent/agent.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/run/run.hpp"
#include "launcher/task/task.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

template <class State>
void check_table(const StateTable<State>& table) {
  INFO(table.machine());
  std::set<State> reached = {table.rows().front().state};
  std::set<std::string_view> names;
  // Every row is led to by one above it, and leads downwards: no way comes back.
  for (const StateRow<State>& row : table.rows()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK_FALSE(row.meaning.empty());
    CHECK(reached.contains(row.state));
    for (const State next : row.next) {
      CHECK(&table.row(next) > &table.row(row.state));
      reached.insert(next);
    }
  }
  CHECK(table.rows().back().next.empty());
}

// A line for each state, its meaning and what may come next.
template <class State>
std::string to_markdown(const StateTable<State>& table) {
  std::string text = "| state | meaning | next |\n| --- | --- | --- |\n";
  for (const StateRow<State>& row : table.rows()) {
    text.append("| `").append(row.name).append("` | ").append(row.meaning).append(" | ");
    for (const State next : row.next)
      text.append(next == row.next.front() ? "`" : ", `").append(table.row(next).name).append("`");
    text += row.next.empty() ? "the end |\n" : " |\n";
  }
  return text;
}

template <class State>
std::string section(const StateTable<State>& table) {
  return "\n## The states of " + std::string(table.machine()) + "\n\n" + to_markdown(table);
}

std::string page() {
  return "# States\n\nThe transition tables of the machines that decide, and the type that keeps "
         "to one (`state_table.hpp`).\nA table stands beside its machine; this page is made from "
         "them by `tests/launcher/states`. A change that\na table does not have is a bug, and "
         "throws: the simulation would find it. Nothing else lives here.\n" +
         section(task_states()) + section(attempt_states()) + section(run_phases()) +
         section(host_states()) + section(agent_states()) + section(agent_attempt_states());
}

}  // namespace

TEST_CASE("every state of a table can be reached, and every way through it ends") {
  check_table(task_states());
  check_table(attempt_states());
  check_table(run_phases());
  check_table(host_states());
  check_table(agent_states());
  check_table(agent_attempt_states());
}

TEST_CASE("a state changes as its table says, and otherwise not at all") {
  TrackedState<RunPhase> phase(run_phases());
  CHECK(phase == RunPhase::connecting);
  phase.become(RunPhase::connecting);
  phase.become(RunPhase::stopping);
  CHECK_THROWS_WITH(phase.become(RunPhase::running),
                    "a run went through connecting, stopping, and is to be running");
  CHECK(phase == RunPhase::stopping);
  phase.become(RunPhase::over);
  CHECK(phase.path() == std::vector{RunPhase::connecting, RunPhase::stopping, RunPhase::over});
}

TEST_CASE("the page of states shows the tables") {
  const std::string path = TRAIN_SOURCE_DIR "/launcher/states/README.md";
  if (std::getenv("TRAIN_REGENERATE") != nullptr) std::ofstream(path) << page();
  std::ostringstream shown;
  shown << std::ifstream(path).rdbuf();
  CHECK(shown.str() == page());
}
