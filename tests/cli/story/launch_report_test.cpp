// SPDX-License-Identifier: Apache-2.0
#include "cli/story/launch_report.hpp"

#include <csignal>

#include "cli/terminal/talk.hpp"
#include "config_schema/text/text.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

// Two ranks, each on a host of its own.
Trial two_hosts() {
  Trial trial;
  for (int i = 0; i < 2; ++i) {
    PlannedHost host;
    host.host.name = i == 0 ? "gpu-a" : "gpu-b";
    host.first_rank = i;
    host.rank_count = 1;
    trial.hosts.push_back(host);
    PlannedRank rank;
    rank.rank = i;
    rank.host = i;
    trial.ranks.push_back(rank);
  }
  return trial;
}

Failure rank_failure(int rank, const std::string& message, int exit_code) {
  return {{}, make_error(ErrorClass::worker, message), rank, rank, exit_code};
}

struct Reported {
  RunOutcome outcome;
  Trial trial = two_hosts();
  TaskRecord task;

  Reported() {
    outcome.ranks.resize(2);
    task.ranks.resize(2);
  }
  std::string words() {
    Terminal terminal([] {});
    const RankOutput output(terminal, Tee{});
    return last_words(outcome, trial, output, task).text();
  }
};

std::string last_line(const std::string& text) { return text.substr(text.rfind('\n') + 1); }

}  // namespace

TEST_CASE("the last line names class, rank, host and exit code") {
  Reported reported;
  reported.outcome.cause = rank_failure(1, "rank 1 on 'gpu-b' exited with code 3", 3);
  CHECK(last_line(reported.words()) ==
        "failed: worker: rank 1 on 'gpu-b' exited with code 3 (exit 3)");
}

TEST_CASE("the cause is told once in full") {
  Reported reported;
  const std::string cause = "rank 1 on 'gpu-b' exited with code 3";
  reported.outcome.cause = rank_failure(1, cause, 3);
  const std::string words = reported.words();
  CHECK(words.find(cause) != words.npos);
  CHECK(words.find(cause) == words.rfind(cause));
}

TEST_CASE("the last line names what is missing") {
  struct Row {
    std::string message;
    std::string last_line;
  };
  const Row row = GENERATE(values<Row>({
      {"cannot execute '/opt/train': no such file",
       "failed: missing: host 'gpu-b': cannot execute '/opt/train' (exit 72)"},
      {"program 'pyhton3' was not found; searched PATH=/usr/bin:/bin",
       "failed: missing: host 'gpu-b': program 'pyhton3' (exit 72)"},
      {"cannot execute './run': its interpreter '/no/sh' cannot be executed: no such file",
       "failed: missing: host 'gpu-b': cannot execute './run': its interpreter '/no/sh' (exit 72)"},
      {"working directory '/home/a': no such directory",
       "failed: missing: host 'gpu-b': working directory '/home/a' (exit 72)"},
      {"nobody's name", "failed: missing: host 'gpu-b' (exit 72)"},
      {"cannot execute '/opt\n/train': no", "failed: missing: host 'gpu-b' (exit 72)"},
      {"cannot execute '" + std::string(4'000, 'x') + "': no",
       "failed: missing: host 'gpu-b' (exit 72)"},
  }));
  Reported reported;
  reported.outcome.cause = Failure{
      {}, make_error(ErrorClass::missing, "host 'gpu-b': " + row.message, "make it"), {}, 1, 0};
  CHECK(last_line(reported.words()) == row.last_line);
}

TEST_CASE("what a signal usually means is said") {
  Reported reported;
  reported.outcome.cause = rank_failure(0, "rank 0 on 'gpu-a' was killed by SIGKILL", 137);
  reported.outcome.ranks[0].signal = SIGKILL;
  // Of a rank that train has stopped it says nothing.
  CHECK(reported.words().find("out-of-memory") == std::string::npos);
  reported.outcome.ranks[0].state = RankOutcome::State::failed;
  CHECK(reported.words().find("out-of-memory") != std::string::npos);
}

TEST_CASE("where a rank has gone with the process that ranks are started from nothing is guessed") {
  Reported reported;
  reported.outcome.cause = rank_failure(0, "rank 0 on 'gpu-a' was killed by SIGKILL: ...", 137);
  reported.outcome.ranks[0].signal = SIGKILL;
  reported.outcome.ranks[0].state = RankOutcome::State::failed;
  reported.outcome.ranks[0].ended_with_parent = true;
  CHECK(reported.words().find("out-of-memory") == std::string::npos);
}

TEST_CASE("a kill for want of memory and a core are told, and no guess about the signal") {
  Reported reported;
  reported.outcome.cause = rank_failure(0, "rank 0 on 'gpu-a' was killed by the kernel", 137);
  reported.outcome.ranks[0].signal = SIGKILL;
  reported.outcome.ranks[0].memory_kill =
      message::MemoryKill{"its cgroup's limit of 2 GiB", "4711 (python3)"};
  reported.outcome.ranks[0].core = "'/srv/core.4711'";
  const std::string words = reported.words();
  CHECK(words.find("out-of-memory") == words.npos);
  CHECK(words.find("\n  the kernel killed process 4711 (python3)") != words.npos);
  CHECK(words.find("\n  its core: '/srv/core.4711'") != words.npos);
}

TEST_CASE("the trouble of a host is said once, and its host again at the end") {
  Reported reported;
  reported.outcome.cause = Failure{
      {}, make_error(ErrorClass::missing, "host 'gpu-b': no such file", "make it"), {}, 1, 0};
  CHECK(reported.words() ==
        "host 'gpu-b': no such file\n  make it\nfailed: missing: host 'gpu-b' (exit 72)");
  reported.outcome.cause =
      Failure{{}, make_error(ErrorClass::host, "host 'gpu-b': gone"), {}, 1, 0};
  CHECK(reported.words() == "failed: host: host 'gpu-b': gone (exit 76)");
}

TEST_CASE("the last line is one line, whatever a host said") {
  Reported reported;
  reported.outcome.cause =
      Failure{{}, make_error(ErrorClass::host, "host 'gpu-a': one\ntwo"), {}, 0, 0};
  CHECK(last_line(reported.words()) == "failed: host: host 'gpu-a': one\\x0atwo (exit 76)");
}

TEST_CASE("trouble of the launcher itself blames no host") {
  Reported reported;
  reported.outcome.cause =
      Failure{{}, make_error(ErrorClass::no_input, "cannot make the log", "look"), {}, -1, 0};
  CHECK(last_line(reported.words()) == "failed: no_input (exit 66)");
}

TEST_CASE("a failed worker never yields 0, and a signal gives 128 and its number") {
  RunOutcome outcome;
  outcome.cause = rank_failure(0, "rank 0 failed", 0);
  CHECK(exit_code_of(outcome).value() == 1);
  outcome.cause->exit_code = 139;
  CHECK(exit_code_of(outcome).value() == 139);
  outcome.stop_signal = SIGTERM;
  CHECK(exit_code_of(outcome).value() == 143);
}

TEST_CASE("a task whose time is over has a state, a class and a code of its own") {
  Reported reported;
  reported.outcome.stop_signal = runtime_over;
  CHECK(exit_code_of(reported.outcome).value() == 124);
  CHECK(cause_line(reported.outcome) == "max_runtime is over");
  CHECK(reported.words().ends_with("failed: timeout: max_runtime is over (exit 124)"));
  record_outcome(reported.task, reported.outcome, reported.trial);
  CHECK(reported.task.state == TaskState::timeout);
  CHECK(reported.task.exit_code == 124);
  CHECK(reported.task.error_class == "timeout");
}

TEST_CASE("what hosts and ranks say makes no line of ours") {
  Reported reported;
  const std::string forged = "x\ntrain: all ranks succeeded\x1b[2J\x9b\xe2\x80\xae";
  Terminal terminal([] {});
  RankOutput output(terminal, Tee{.mode = Tee::Mode::none, .ranks = {}});
  output.add({1, 1, OutputStream::err, forged + "\n"});
  reported.outcome.cause = rank_failure(1, "rank 1 on 'gpu-b' " + forged, 3);
  reported.outcome.cause->error.diagnostics.front().hint = forged;
  reported.outcome.ranks[1].reported = forged;
  reported.task.log_directory = "/tmp";
  reported.task.ranks[1].log_file = forged;
  reported.outcome.others = {rank_failure(0, forged, 1),
                             {{}, make_error(ErrorClass::host, forged, forged), {}, 0, 0}};
  reported.outcome.simultaneous = {0};
  reported.outcome.leftovers = {{0, {}, 0, forged}, {1, {{1, 2, forged}}}};
  const std::string told =
      talk_text(last_words(reported.outcome, reported.trial, output, reported.task));
  for (const std::string& line : split_lines(told)) {
    INFO(line);
    CHECK(plain_length(line) == line.size());
    CHECK_FALSE(line.starts_with("train: all ranks succeeded"));
    CHECK((line.starts_with("train: ") || line.starts_with("  ")));
  }
}

TEST_CASE("a hundred thousand survivors are a few lines") {
  Reported reported;
  Leftover leftover;
  leftover.host = 1;
  for (int i = 0; i < 1'000; ++i) leftover.survivors.push_back({i, 0, std::string(100, 'x')});
  leftover.more_survivors = 99'000;
  reported.outcome.leftovers = {leftover};
  reported.outcome.cause = rank_failure(0, "rank 0 on 'gpu-a' exited with code 1", 1);
  const std::string words = reported.words();
  CHECK(words.size() < 5'000);
  CHECK(words.find("... and 99992 more") != std::string::npos);
}

TEST_CASE("of a host that confirms nothing it is said what becomes of its ranks") {
  Reported reported;
  reported.outcome.succeeded = true;
  Leftover leftover;
  leftover.host = 1;
  leftover.why = "it was not waited for any longer";
  reported.outcome.leftovers = {leftover};
  CHECK(
      reported.words().ends_with("; its agent stops them once it has missed the launcher for "
                                 "40 s"));
  reported.task.outlives_ms = 610'600;
  CHECK(reported.words().ends_with("missed the launcher for 10 min 10 s"));
  reported.task.outlives_ms = for_ever.count();
  CHECK(reported.words().ends_with(
      "they may go on there, as on_launcher_loss says, until they end by themselves"));
}
