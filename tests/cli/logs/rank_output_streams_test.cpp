// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/rank_output.hpp"

#include "tests/catch.hpp"
#include "tests/cli/captured_stream.hpp"
#include "tests/launcher/simulation/virtual_time.hpp"

using namespace train;
using namespace train::testing;

namespace {

OutputChunk chunk(int rank, OutputStream stream, const std::string& bytes, AttemptId of = {}) {
  return {.number = 1, .rank = rank, .stream = stream, .bytes = bytes, .of = of};
}

}  // namespace

TEST_CASE("ranks to be shown are read from a list") {
  CHECK(parse_tee("all", "--tee")->shows(7));
  CHECK_FALSE(parse_tee("none", "--tee")->shows(0));
  const auto some = parse_tee("rank:0,4-6", "--tee");
  REQUIRE(some);
  std::set<int> shown;
  for (int rank = 0; rank < 9; ++rank)
    if (some->shows(rank)) shown.insert(rank);
  CHECK(shown == std::set<int>{0, 4, 5, 6});
}

TEST_CASE("a list of ranks that is none is refused") {
  const std::string text = GENERATE("", "some", "rank:", "rank:1,", "rank:-1", "rank:3-1",
                                    "rank:1-", "rank:a", "rank:1-2-3", "rank:99999999999");
  CAPTURE(text);
  const auto tee = parse_tee(text, "--tee");
  REQUIRE_FALSE(tee);
  CHECK(tee.error().error_class == ErrorClass::usage);
}

TEST_CASE("lines are shown with their rank, each on its stream") {
  CapturedStream standard_output(STDOUT_FILENO);
  CapturedStream standard_error(STDERR_FILENO);
  {
    Terminal terminal([] {});
    RankOutput output(terminal, Tee{});
    output.add(chunk(0, OutputStream::out, "one\ntw"));
    output.add(chunk(1, OutputStream::err, "\x1b[31mred\n"));
    output.add(chunk(0, OutputStream::out, "o\nrest"));
    output.end();
    CHECK(output.last_errors(0, 1) == std::vector<std::string>{"\\x1b[31mred"});
    CHECK(output.last_errors(0, 0).empty());
  }
  CHECK(standard_output.read_all() == "[0] one\n[0] two\n[0] rest\n");
  CHECK(standard_error.read_all() == "[1] \\x1b[31mred\n");
}

TEST_CASE("of a rank that is not shown, its last errors are known") {
  CapturedStream standard_output(STDOUT_FILENO);
  CapturedStream standard_error(STDERR_FILENO);
  {
    Terminal terminal([] {});
    RankOutput output(terminal, *parse_tee("rank:1", "--tee"));
    output.add(chunk(0, OutputStream::out, "hidden\n"));
    output.add(chunk(0, OutputStream::err, "cause\n"));
    output.add(chunk(1, OutputStream::out, "shown\n"));
    CHECK(output.last_errors(0, 0) == std::vector<std::string>{"cause"});
  }
  CHECK(standard_output.read_all() == "[1] shown\n");
  CHECK(standard_error.read_all().empty());
}

TEST_CASE("what comes while the terminal is far behind is not shown, and it is said how much") {
  CapturedStream standard_output(STDOUT_FILENO);
  CapturedStream standard_error(STDERR_FILENO);
  const std::string block(1'000'000, 'x');
  std::string received;
  {
    Terminal terminal([] {}, 500'000);
    RankOutput output(terminal, Tee{}, "train task logs ID");
    output.add(chunk(0, OutputStream::out, block + "\nhalf"));
    output.add(chunk(0, OutputStream::out, " a line\nhidden\n"));
    output.add(chunk(1, OutputStream::err, "cause\nnot whole"));
    CHECK(output.last_errors(0, 1) == std::vector<std::string>{"cause"});
    while (received.size() < block.size()) received += standard_output.read_some();
    terminal.flush();
    output.has_room();
    output.has_room();  // says it once
    output.add(chunk(0, OutputStream::out, "shown\n"));
    output.end();
  }
  received += standard_output.read_all();
  CHECK(received.substr(received.rfind('x') + 1) == "\n[0] shown\n");
  CHECK(
      standard_error.read_all() ==
      "train: 3 lines of output were not shown here, because they were read too slowly; train task "
      "logs ID prints everything\n[1] not whole\n");
}

TEST_CASE("lines of several trials say which, and of which rank where a trial has several") {
  using Prefix = RankOutput::Prefix;
  const auto [prefix, shown] = GENERATE(
      std::pair(Prefix::trial, std::string("[7] one\n[12] other\n[7] two\n")),
      std::pair(Prefix::trial_and_rank, std::string("[7/0] one\n[12/3] other\n[7/0] two\n")),
      std::pair(Prefix::rank, std::string("[0] one\n[3] other\n[0] two\n")));
  CapturedStream standard_output(STDOUT_FILENO);
  {
    Terminal terminal([] {});
    RankOutput output(terminal, Tee{}, "train task logs ID", prefix);
    output.add(chunk(0, OutputStream::out, "one\ntw", {7, 0}));
    output.add(chunk(3, OutputStream::out, "other\n", {12, 0}));
    output.add(chunk(0, OutputStream::out, "o\n", {7, 0}));
  }
  CHECK(standard_output.read_all() == shown);
}

TEST_CASE("a list of ranks chooses them in each trial") {
  CapturedStream standard_output(STDOUT_FILENO);
  {
    Terminal terminal([] {});
    RankOutput output(terminal, *parse_tee("rank:1", "--tee"), "train task logs ID",
                      RankOutput::Prefix::trial_and_rank);
    for (const int trial : {4, 5})
      for (const int rank : {0, 1}) output.add(chunk(rank, OutputStream::out, "x\n", {trial, 0}));
  }
  CHECK(standard_output.read_all() == "[4/1] x\n[5/1] x\n");
}

TEST_CASE("of a trial that ends the last lines are shown, and it is forgotten, as no other is") {
  CapturedStream standard_output(STDOUT_FILENO);
  CapturedStream standard_error(STDERR_FILENO);
  {
    Terminal terminal([] {});
    RankOutput output(terminal, Tee{}, "train task logs ID", RankOutput::Prefix::trial);
    for (const int trial : {6, 7, 8}) {
      output.add(chunk(0, OutputStream::out, "half", {trial, 0}));
      output.add(chunk(0, OutputStream::err, "first\ncause", {trial, 0}));
    }
    output.end(7);
    CHECK(output.last_errors(7, 0) == std::vector<std::string>{"first", "cause"});
    output.end_trial(7);
    CHECK(output.last_errors(7, 0).empty());
    CHECK(output.last_errors(8, 0) == std::vector<std::string>{"first"});
    output.add(chunk(0, OutputStream::out, " a line\n", {6, 0}));
    output.remember(9, 0, "said before\n");
    CHECK(output.last_errors(9, 0) == std::vector<std::string>{"said before"});
    output.end();
  }
  CHECK(standard_output.read_all() == "[7] half\n[6] half a line\n[8] half\n");
  CHECK(standard_error.read_all() ==
        "[6] first\n[7] first\n[8] first\n[7] cause\n[6] cause\n[8] cause\n");
}

TEST_CASE("trials that end while the terminal is far behind fill it no further") {
  CapturedStream standard_output(STDOUT_FILENO);
  CapturedStream standard_error(STDERR_FILENO);
  const std::string block(1'000'000, 'x');
  std::string received;
  {
    Terminal terminal([] {}, 500'000);
    RankOutput output(terminal, Tee{}, "train task logs ID", RankOutput::Prefix::trial);
    output.add(chunk(0, OutputStream::out, block + "\n"));
    for (int trial = 1; trial <= 1'000; ++trial) {
      output.add(chunk(0, OutputStream::out, "half a line", {trial, 0}));
      output.end_trial(trial);
    }
    while (received.size() < block.size()) received += standard_output.read_some();
    terminal.flush();
    output.end();
  }
  received += standard_output.read_all();
  CHECK(received.substr(received.rfind('x') + 1) == "\n");
  CHECK(standard_error.read_all() ==
        "train: 1000 lines of output were not shown here, because they were read too slowly; train "
        "task logs ID prints everything\n");
}

TEST_CASE("lines of many ranks are shown once, after a short while if not all print them") {
  CapturedStream standard_output(STDOUT_FILENO);
  CapturedStream standard_error(STDERR_FILENO);
  simulation::VirtualTime time;
  simulation::FakeTimers timers(time);
  {
    Terminal terminal([] {});
    RankOutput output(terminal, Tee{});
    output.fold_lines(timers, 3);
    for (const int rank : {2, 0, 1})
      output.add(chunk(rank, OutputStream::out, "same\n10%\r\x1b[1m20%"));
    terminal.flush();
    CHECK(standard_output.read_some() == "[0-2] same\n");
    for (const int rank : {0, 2}) output.add(chunk(rank, OutputStream::out, "\n"));
    output.add(chunk(2, OutputStream::err, "own\nhalf"));
    while (time.step()) continue;
    CHECK(time.now() <= LineFolder::hold * 4 / 3);
    terminal.flush();
    CHECK(standard_output.read_some() == "[0,2] \\x1b[1m20%\n");
    output.end();
  }
  CHECK(standard_output.read_all() == "[1] \\x1b[1m20%\n");
  CHECK(standard_error.read_all() == "[2] own\n[2] half\n");
}

TEST_CASE("ranks of one trial are folded, or trials of one rank each") {
  using Prefix = RankOutput::Prefix;
  const auto [prefix, shown] =
      GENERATE(std::pair(Prefix::trial, std::string("[4-5] x\n[4-5] x\n")),
               std::pair(Prefix::trial_and_rank, std::string("[4/0-1] x\n[5/0-1] x\n")));
  CapturedStream standard_output(STDOUT_FILENO);
  simulation::VirtualTime time;
  simulation::FakeTimers timers(time);
  {
    Terminal terminal([] {});
    RankOutput output(terminal, Tee{}, "train task logs ID", prefix);
    output.fold_lines(timers, 0);
    for (const int trial : {4, 5})
      for (const int rank : {0, 1}) output.add(chunk(rank, OutputStream::out, "x\n", {trial, 0}));
    output.end();
  }
  CHECK(standard_output.read_all() == shown);
}
