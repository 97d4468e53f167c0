// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/hang_report.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/run/trial_of.hpp"

using namespace train;

namespace {

RankState waiting(int rank, const std::string& function = "futex_wait_queue") {
  RankState state;
  state.rank = rank;
  state.pid = 100 + rank;
  state.command = "python3";
  state.state = "S";
  state.waits_in = function;
  state.threads = 3;
  return state;
}

RankState in_frames(int rank, const std::vector<std::string>& frames) {
  RankState state = waiting(rank);
  state.python = "Current thread 0x00007f0 (most recent call first):\n";
  for (const std::string& frame : frames) state.python += "  File " + frame + "\n";
  state.python +=
      "\nThread 0x00007f1 (most recent call first):\n  File \"/x.py\", line 1 in other\n";
  return state;
}

HangReport report_of(const std::vector<RankState>& states, int ranks = 0) {
  std::map<int, RankState> by_rank;
  for (const RankState& state : states) by_rank[state.rank] = state;
  std::vector<int> all;
  for (int rank = 0; rank < std::max(ranks, static_cast<int>(states.size())); ++rank)
    all.push_back(rank);
  return hang_report(milliseconds(60'000), all, by_rank);
}

std::vector<int> odd_ranks(const HangReport& report) {
  std::vector<int> odd;
  for (const HangGroup& group : report.groups)
    if (group.is_odd) odd.insert(odd.end(), group.ranks.begin(), group.ranks.end());
  return odd;
}

const char* const collective =
    R"("/lib/torch/distributed/distributed_c10d.py", line 1451 in all_reduce)";

}  // namespace

TEST_CASE("the rank that does something else than most is odd") {
  const HangReport report =
      report_of({waiting(0), waiting(1), waiting(2, "pipe_read"), waiting(3)});
  REQUIRE(report.groups.size() == 2);
  CHECK(report.groups[0].ranks == std::vector{0, 1, 3});
  CHECK(report.groups[0].what == "python3 waits in futex_wait_queue");
  CHECK_FALSE(report.groups[0].is_odd);
  CHECK(odd_ranks(report) == std::vector{2});
  CHECK(lines_of(report, trial_of({2, 2})) ==
        std::vector<std::string>{"rank 2 on h1, unlike the others: python3 waits in pipe_read",
                                 "ranks 0-1,3 on h0, h1: python3 waits in futex_wait_queue",
                                 "'hang_stacks: true' lets Python say where it is"});
}

TEST_CASE("where no more than half of the ranks do the same, none is odd") {
  CHECK(odd_ranks(report_of({waiting(0), waiting(1, "pipe_read")})).empty());
  CHECK(odd_ranks(report_of({waiting(0), waiting(1)})).empty());
}

TEST_CASE("a stopped rank is odd, unless all are") {
  RankState stopped = waiting(1);
  stopped.state = "T";
  const HangReport report = report_of({waiting(0), stopped});
  CHECK(odd_ranks(report) == std::vector{1});
  CHECK(lines_of(report, trial_of({2}))[0] ==
        "rank 1 on h0, unlike the others: python3 is stopped by a signal (SIGSTOP)");
  RankState other = stopped;
  other.rank = 0;
  CHECK(odd_ranks(report_of({other, stopped})).empty());
}

TEST_CASE("ranks that are not in a collective of torch are odd, even if they are more") {
  const std::string main = R"("/w/train.py", line 30 in <module>)";
  const HangReport report = report_of({in_frames(0, {collective, main}),
                                       in_frames(1, {R"("/w/train.py", line 9 in load)", main}),
                                       in_frames(2, {R"("/w/train.py", line 9 in load)", main})});
  CHECK(odd_ranks(report) == std::vector{1, 2});
  CHECK(lines_of(report, trial_of({3})) ==
        std::vector<std::string>{
            "ranks 1-2 on h0, unlike the others: python3 in load (/w/train.py:9)",
            "  from <module> (/w/train.py:30)",
            "rank 0 on h0: python3 in all_reduce (/lib/torch/distributed/distributed_c10d.py:1451)",
            "  from <module> (/w/train.py:30)"});
}

TEST_CASE("equal frames are one group whatever the kernel says of the moment") {
  RankState busy = in_frames(1, {R"("/w/train.py", line 9 in step)"});
  busy.state = "R";
  busy.waits_in.clear();
  CHECK(report_of({in_frames(0, {R"("/w/train.py", line 9 in step)"}), busy}).groups.size() == 1);
}

TEST_CASE("where all wait in the same function, the frame that tells ranks apart is named") {
  const std::string wait = R"("/w/a.py", line 5 in wait)";
  const HangReport report = report_of({in_frames(0, {wait, R"("/w/a.py", line 20 in step)"}),
                                       in_frames(1, {wait, R"("/w/a.py", line 30 in load)"}),
                                       in_frames(2, {wait, R"("/w/a.py", line 20 in step)"})});
  CHECK(lines_of(report, trial_of({3}))[0] ==
        "rank 1 on h0, unlike the others: python3 in wait (/w/a.py:5), from load (/w/a.py:30)");
}

TEST_CASE("a rank of which nothing is known is told as such, and is not odd") {
  const HangReport report = report_of({waiting(0), waiting(1)}, 3);
  CHECK(odd_ranks(report).empty());
  CHECK(lines_of(report, trial_of({2, 1}))[1] == "rank 2 on h1: not known");
  CHECK(hang_report(milliseconds(1), {}, {}).groups.empty());
}

TEST_CASE("the report for a person fits a screen, the one in the file has everything") {
  std::vector<RankState> states;
  for (int rank = 0; rank < 64; ++rank)
    states.push_back(in_frames(rank, {"\"/w/a.py\", line " + std::to_string(rank) + " in f",
                                      "\"/w/a.py\", line 1 in g", "\"/w/a.py\", line 1 in h",
                                      "\"/w/a.py\", line 1 in i", "\"/w/a.py\", line 1 in j"}));
  const HangReport report = report_of(states);
  const auto lines = lines_of(report, trial_of({64}));
  CHECK(lines.size() == 17);
  CHECK(lines.back() == "and 60 more ranks in other states");
  const std::string text = text_of(report, trial_of({64}));
  CHECK(text.find("rank 63 on h0: python3 waits in futex_wait_queue (process 163, S, 3 threads)") !=
        text.npos);
  CHECK(text.find("line 63 in f") != text.npos);
}

TEST_CASE("what hosts say is safe in the file") {
  RankState state = in_frames(0, {"x"});
  state.command = "a\x1b[31m";
  state.kernel_stack = "b\x07";
  const std::string text = text_of(report_of({state}), trial_of({1}));
  CHECK(text.find_first_of("\x1b\x07") == text.npos);
}

TEST_CASE("frames that cannot be read are taken as they are") {
  const HangReport report = report_of({in_frames(0, {"???"})});
  CHECK(report.groups[0].what == "python3 in ???");
}
