// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/logged_trials.hpp"

#include <filesystem>
#include <fstream>

#include "backends/log/trial_logs.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

/// A task with logs of some trials.
struct Scene {
  TemporaryDirectory directory;
  TaskRecord task;

  explicit Scene(const std::vector<AttemptId>& attempts = {}) {
    task.id = "abcd2345";
    task.log_directory = directory.path();
    task.ranks.resize(4);
    task.attempts.resize(1);
    TrialLogs logs(directory.path(), 2, {});
    for (const AttemptId of : attempts) logs.append({0, OutputStream::out, 1, "x", 0, of}, 0);
  }
  std::string error_of(std::optional<int> trial) const {
    const auto found = only_trial(task, trial);
    REQUIRE_FALSE(found);
    CHECK(found.error().error_class == (trial ? ErrorClass::no_input : ErrorClass::usage));
    return render(found.error());
  }
  void put(const std::string& name) const { std::ofstream(directory.path() + "/" + name) << "x"; }
};

}  // namespace

TEST_CASE("a task without folders of trials is itself, and trial 0") {
  const Scene scene;
  scene.put("rank-0.0.log");
  scene.put("trial-x");
  scene.put("trial-07");
  CHECK(logged_trials(scene.task.log_directory).empty());
  CHECK(*only_trial(scene.task, {}) == scene.task);
  CHECK(*only_trial(scene.task, 0) == scene.task);
  CHECK(scene.error_of(3).find("task abcd2345 has no logs of trial 3: there are those of trial 0 "
                               "alone") != std::string::npos);
}

TEST_CASE("one trial of many is shown as if it were all of the task") {
  const Scene scene({{0, 0}, {12, 0}, {12, 1}, {3, 0}});
  CHECK(logged_trials(scene.task.log_directory) == std::vector<int>{0, 3, 12});
  const auto found = only_trial(scene.task, 12);
  REQUIRE(found);
  CHECK(found->id == "abcd2345");
  CHECK(found->log_directory == scene.directory.path() + "/trial-12");
  CHECK(found->restarts == 1);
  CHECK(found->attempts.empty());
  REQUIRE(found->ranks.size() == 2);
  CHECK(found->ranks[1].rank == 1);
  CHECK(found->ranks[1].log_file == rank_log_file(found->log_directory, 1, 1));
}

TEST_CASE("which trials have logs is said when none is given, or another") {
  const Scene scene({{5, 0}, {12, 0}, {3, 0}});
  const std::string none = scene.error_of({});
  CHECK(none.find("task abcd2345 has logs of 3 trials, 3 to 12") != std::string::npos);
  CHECK(none.find("--trial 3") != std::string::npos);
  CHECK(scene.error_of(4).find("task abcd2345 has no logs of trial 4: there are those of 3 trials, "
                               "3 to 12") != std::string::npos);
  CHECK(Scene({{7, 0}}).error_of({}).find("has logs of trial 7 alone") != std::string::npos);
}

TEST_CASE("a rank of which only later segments are kept has logs, and other files are none") {
  const Scene scene({{1, 0}});
  scene.put("trial-1/rank-3.2.log.0000000000004096");
  scene.put("trial-1/metrics-5.4.log");
  scene.put("trial-1/rank-6.4.index");
  scene.put("trial-1/rank-07.4.log");
  scene.put("trial-1/rank-8.log");
  const auto found = only_trial(scene.task, 1);
  REQUIRE(found);
  CHECK(found->ranks.size() == 4);
  CHECK(found->restarts == 2);
}

TEST_CASE("a folder of a trial without logs is no trial's") {
  const Scene scene({{1, 0}});
  std::filesystem::create_directory(scene.directory.path() + "/trial-2");
  CHECK(scene.error_of(2).find("there are no logs in") != std::string::npos);
}
