// SPDX-License-Identifier: Apache-2.0
#include "backends/log/trial_logs.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/posix/files.hpp"
#include "launcher/record/task_record.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

namespace fs = std::filesystem;

/// Logs of the trials of a task, in a folder of its own.
struct Scene {
  TemporaryDirectory directory;
  TrialLogs logs{directory.path(), 2, {}};

  LogSink::Outcome write(AttemptId of, const std::string& bytes, int rank = 0,
                         OutputStream stream = OutputStream::out) {
    return logs.append({rank, stream, 1, bytes, 0, of}, 0);
  }
  std::string folder(int trial) const { return trial_log_directory(directory.path(), trial); }
  std::string file(AttemptId of, int rank = 0) const {
    return rank_log_file(folder(of.trial), rank, of.attempt);
  }
  std::string contents(AttemptId of, int rank = 0) const {
    std::ostringstream text;
    text << std::ifstream(file(of, rank), std::ios::binary).rdbuf();
    return text.str();
  }
};

std::size_t open_descriptors() { return names_in(FolderReader("/proc/self/fd")).size(); }

/// Its name is a link from now on, which is not followed: it cannot be opened.
void spoil(const std::string& file) {
  fs::remove(file);
  fs::create_symlink(file, file);
}

}  // namespace

TEST_CASE("trials that run at once have logs of their own, in folders for nobody else") {
  Scene scene;
  CHECK(scene.write({0, 0}, "a").trouble.empty());
  CHECK(scene.write({12, 0}, "b", 1).trouble.empty());
  CHECK(scene.write({0, 0}, "c").trouble.empty());
  CHECK(scene.write({12, 1}, "d", 1).trouble.empty());
  CHECK(scene.write({0, 0}, "e").trouble.empty());
  CHECK(scene.contents({0, 0}) == "ace");
  CHECK(scene.contents({12, 0}, 1) == "b");
  CHECK(scene.contents({12, 1}, 1) == "d");
  CHECK(fs::file_size(scene.file({12, 1}, 0)) == 0);
  CHECK(scene.folder(12) == scene.directory.path() + "/trial-12");
  struct stat status {};
  REQUIRE(::stat(scene.folder(12).c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  CHECK(names_in(FolderReader(scene.directory.path())).size() == 2);
}

TEST_CASE("a trial that prints nothing has its files too") {
  Scene scene;
  CHECK(scene.write({3, 0}, "").trouble.empty());
  CHECK(fs::file_size(scene.file({3, 0}, 1)) == 0);
}

TEST_CASE("the files of a trial that has ended are closed, and what still comes of it is lost") {
  Scene scene;
  const std::size_t before = open_descriptors();
  for (const int trial : {1, 2, 3})
    for (const int rank : {0, 1}) {
      scene.write({trial, 0}, "x", rank);
      scene.write({trial, 0}, "{}\n", rank, OutputStream::metrics);
    }
  CHECK(open_descriptors() == before + 3 * 2 * 4);
  scene.logs.end_trial(2);
  CHECK(open_descriptors() == before + 2 * 2 * 4);
  const auto late = scene.write({2, 1}, "late");
  CHECK(late.taken == 4);
  CHECK(late.lost == 4);
  CHECK_FALSE(late.is_waiting);
  CHECK_FALSE(fs::exists(scene.file({2, 1})));
  CHECK(scene.write({3, 0}, "y").lost == 0);
  CHECK(scene.contents({3, 0}) == "xy");
  scene.logs.end_trial(1);
  scene.logs.end_trial(3);
  CHECK(open_descriptors() == before);
}

TEST_CASE("2,000 trials one after another leave no descriptor") {
  Scene scene;
  const std::size_t before = open_descriptors();
  for (int trial = 0; trial < 2'000; ++trial) {
    scene.write({trial, 0}, trial % 3 == 0 ? "" : "x");
    if (trial % 100 == 0) CHECK(scene.logs.begin_sync()().trouble.empty());
    scene.logs.end_trial(trial);
    if (open_descriptors() != before) FAIL("trial " << trial);
  }
  CHECK(scene.contents({1'999, 0}) == "x");
}

TEST_CASE("many trials at once keep a bounded number of files open, and lose nothing") {
  Scene scene;
  const std::size_t before = open_descriptors();
  constexpr int trials = 300;
  std::size_t most = 0;
  for (int round = 0; round < 3; ++round)
    for (int trial = 0; trial < trials; ++trial) {
      CHECK(scene.write({trial, 0}, fmt::format("{}\n", round), trial % 2).trouble.empty());
      most = std::max(most, open_descriptors() - before);
    }
  CHECK(most <= 256);
  CHECK(most >= 200);  // those that were used last are not opened again and again
  for (int trial = 0; trial < trials; ++trial)
    if (scene.contents({trial, 0}, trial % 2) != "0\n1\n2\n") FAIL("trial " << trial);
  for (int trial = 0; trial < trials; ++trial) scene.logs.end_trial(trial);
  CHECK(open_descriptors() == before);
}

TEST_CASE("where descriptors run out, a trial writes on with those of the others") {
  Scene scene;
  for (int trial = 0; trial < 20; ++trial) scene.write({trial, 0}, "x");
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  rlimit few = usual;
  few.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto waits = scene.write({20, 0}, "y");
  few.rlim_cur = 35;  // the first 20 have taken more
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto takes = scene.write({20, 0}, "y");
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  CHECK(waits.is_waiting);
  CHECK(takes.trouble.empty());
  CHECK(scene.contents({20, 0}) == "y");
}

TEST_CASE("a sync is of all trials, and once of those that have ended since the last") {
  Scene scene;
  for (const int trial : {1, 2}) scene.write({trial, 0}, "x");
  scene.logs.end_trial(1);
  spoil(scene.file({1, 0}));
  CHECK(scene.logs.begin_sync()().trouble.find("trial-1/rank-0.0.log") != std::string::npos);
  CHECK(scene.logs.begin_sync()().trouble.empty());
  scene.write({2, 0}, "y");
  spoil(scene.file({2, 0}));
  CHECK(scene.logs.begin_sync()().trouble.find("trial-2/rank-0.0.log") != std::string::npos);
}

TEST_CASE("the name of the folder of a trial is synced") {
  Scene scene;
  scene.write({1, 0}, "");
  const std::string moved = scene.directory.path() + ".moved";
  fs::rename(scene.directory.path(), moved);
  spoil(scene.directory.path());
  CHECK(scene.logs.begin_sync()().trouble.find(scene.directory.path()) != std::string::npos);
  CHECK(scene.logs.begin_sync()().trouble.empty());
  fs::remove_all(moved);
}

TEST_CASE("a trial whose folder cannot be made loses its output, says why, and holds up no other") {
  Scene scene;
  std::ofstream(scene.folder(7)) << "in its place";
  CHECK_FALSE(scene.write({7, 0}, "").trouble.empty());
  const auto outcome = scene.write({7, 0}, "bytes");
  CHECK(outcome.lost == 5);
  CHECK(outcome.trouble.find("trial-7") != std::string::npos);
  CHECK(scene.write({8, 0}, "x").trouble.empty());
}

TEST_CASE("a folder that was removed stays away, and once it can be made again its trial has it") {
  Scene scene;
  fs::remove(scene.directory.path());
  const auto outcome = scene.write({1, 0}, "lost");
  CHECK(outcome.lost == 4);
  CHECK(outcome.trouble.find("cannot make the folder") != std::string::npos);
  fs::create_directory(scene.directory.path());
  CHECK(scene.write({1, 0}, "kept").trouble.empty());
  CHECK(scene.contents({1, 0}) == "kept");
}

TEST_CASE("logs of trials that another process has left are gone on with") {
  Scene scene;
  scene.write({4, 1}, "before ");
  scene.write({4, 1}, "{}\n", 1, OutputStream::metrics);
  TrialLogs next(scene.directory.path(), 2, {});
  const auto positions = next.adopt({4, 1});
  REQUIRE(positions);
  CHECK(*positions == std::vector<std::uint64_t>{7, 0, 0, 3});
  CHECK(next.append({0, OutputStream::out, 1, "after", 0, {4, 1}}, 0).trouble.empty());
  CHECK(scene.contents({4, 1}) == "before after");
  CHECK(*next.adopt({5, 0}) == std::vector<std::uint64_t>{0, 0, 0, 0});
  CHECK(fs::exists(scene.file({5, 0})));
}
