// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/spare_hosts.hpp"

#include "launcher/placement/placement.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

constexpr Instant first_end = 1'000s;

using Names = std::vector<std::string>;

// A task of four ranks on two of these hosts.
struct SpareBench {
  explicit SpareBench(const std::string& hosts, int blame_limit = 2, Occupancy held = {})
      : all(parse_hosts({"hosts.yaml", hosts}).value()), spares(all, held) {
    ExperimentConfig experiment;
    experiment.entrypoint.shell = "true";
    experiment.workers = 4;
    experiment.needs.slots = Quantity::of(1);
    experiment.blame_limit = blame_limit;
    plan = make_plan(experiment, all, held).value();
  }
  // The attempt ends by this failure of a host of that name, or of a rank there.
  bool fail(const std::string& host, ErrorClass why, Instant now = first_end, bool is_rank = false,
            bool were_told_to_start = true) {
    RunOutcome outcome;
    outcome.were_told_to_start = were_told_to_start;
    outcome.cause = failure(host, why, is_rank);
    return end(outcome, now);
  }
  Failure failure(const std::string& host, ErrorClass why, bool is_rank) const {
    const Names names = host_names(plan.trial);
    const auto node = static_cast<int>(std::find(names.begin(), names.end(), host) - names.begin());
    REQUIRE(node < static_cast<int>(names.size()));
    Failure failed{{}, make_error(why, "why"), std::nullopt, node, 0};
    if (is_rank) failed.rank = plan.trial.hosts[static_cast<std::size_t>(node)].first_rank;
    if (is_rank) failed.exit_code = 3;
    return failed;
  }
  // Returns whether the next attempt is elsewhere.
  bool end(const RunOutcome& outcome, Instant now = first_end) {
    next = spares.after(plan, outcome, unreached, now);
    if (next) plan.trial = next->plan->trial;
    return next.has_value();
  }
  bool rank_fails(const std::string& host) {
    return fail(host, ErrorClass::worker, first_end, true);
  }
  Names hosts() const { return host_names(plan.trial); }

  HostInventory all;
  Plan plan;
  SpareHosts spares;
  std::optional<NextPlace> next;
  std::set<std::string> unreached;
};

constexpr const char* four =
    "hosts: [{name: a, slots: 2}, {name: b, slots: 2}, "
    "{name: c, slots: 2}, {name: d, slots: 2}]\n";

}  // namespace

TEST_CASE("the place of a lost host is taken by others, with as many ranks") {
  SpareBench b(four);
  REQUIRE(b.hosts() == Names{"a", "b"});
  REQUIRE(b.fail("a", ErrorClass::host));
  CHECK(b.hosts() == Names{"b", "c"});
  CHECK(b.next->is_first_failure);
  CHECK(b.plan.trial.world_size == 4);
  const auto environment = b.next->environment_of(0, 1);
  CHECK(std::any_of(environment.begin(), environment.end(), [](const EnvironmentEntry& entry) {
    return entry.name == "WORLD_SIZE" && entry.text == "4";
  }));
  REQUIRE(b.fail("c", ErrorClass::host, first_end + 10s));
  CHECK(b.hosts() == Names{"b", "d"});
  // Nobody has room for the next one, until the first one is tried again.
  CHECK_FALSE(b.fail("d", ErrorClass::host, first_end + 20s));
  CHECK(b.hosts() == Names{"b", "d"});
  REQUIRE(b.fail("d", ErrorClass::host, first_end + 2min));
  CHECK_FALSE(b.next->is_first_failure);
  CHECK(b.hosts() == Names{"a", "b"});
}

TEST_CASE("slots that others hold are avoided, and a host that lacks the program is") {
  SpareBench b(four);
  REQUIRE(b.fail("b", ErrorClass::busy, first_end, false, false));
  CHECK(b.hosts() == Names{"a", "c"});
  REQUIRE(b.fail("c", ErrorClass::missing, first_end + 1s, false, false));
  CHECK(b.hosts() == Names{"a", "d"});
  // What a rank finds missing while it runs is no fault of its host.
  CHECK_FALSE(b.fail("d", ErrorClass::missing, first_end + 2s));
}

TEST_CASE("an attempt that fails nowhere in particular stays where it is") {
  SpareBench b(four);
  RunOutcome stopped;
  stopped.stop_signal = 2;
  CHECK_FALSE(b.end(stopped));
  RunOutcome failed;
  failed.cause = Failure{{}, make_error(ErrorClass::worker, "why"), std::nullopt, -1, 0};
  CHECK_FALSE(b.end(failed));
}

TEST_CASE("a host whose ranks fail first again and again is left out for good") {
  SpareBench b(four);
  CHECK_FALSE(b.rank_fails("b"));
  CHECK_FALSE(b.rank_fails("a"));
  REQUIRE(b.rank_fails("b"));
  CHECK(b.hosts() == Names{"a", "c"});
  CHECK(b.next->left_out ==
        std::vector<LeftOutHost>{
            {"b", "its ranks were the first to fail in 2 attempts (blame_limit)"}});
  CHECK(left_out_text(b.next->left_out[0]) ==
        "host 'b' is left out from now on: its ranks were the first to fail in 2 attempts "
        "(blame_limit)");
  // Not even after hours.
  REQUIRE(b.fail("a", ErrorClass::host, first_end + 5h));
  CHECK(b.hosts() == Names{"c", "d"});
  CHECK_FALSE(b.fail("c", ErrorClass::host, first_end + 5h + 1s));
}

TEST_CASE("nobody is blamed for a program that fails on all hosts alike, nor without a limit") {
  SpareBench b(four);
  RunOutcome alike;
  alike.cause = b.failure("a", ErrorClass::worker, true);
  alike.others = {b.failure("b", ErrorClass::worker, true)};
  for (int attempt = 0; attempt < 3; ++attempt) CHECK_FALSE(b.end(alike));
  alike.others[0].exit_code = 7;
  CHECK_FALSE(b.end(alike));
  CHECK(b.end(alike));

  SpareBench never(four, 0);
  for (int attempt = 0; attempt < 5; ++attempt) CHECK_FALSE(never.rank_fails("a"));
}

TEST_CASE("a host that a log policy excludes is left at the next attempt, whatever has failed") {
  SpareBench b(four);
  b.spares.exclude("b", "log policy 'Xid'");
  REQUIRE(b.rank_fails("a"));
  CHECK(b.hosts() == Names{"a", "c"});
  CHECK(b.next->left_out == std::vector<LeftOutHost>{{"b", "log policy 'Xid'"}});
}

TEST_CASE("hosts that serve stay, and others that were free come before those that others held") {
  const Occupancy held{{"a", "task 1", {{0, Quantity::of(1)}, {1, Quantity::of(1)}}},
                       {"b", "task 1", {{0, Quantity::of(1)}, {1, Quantity::of(1)}}}};
  SpareBench b(
      "hosts: [{name: a, slots: 2}, {name: b, slots: 2}, {name: c, slots: 2}, "
      "{name: d, slots: 2}, {name: e, slots: 2}]\n",
      2, held);
  REQUIRE(b.hosts() == Names{"c", "d"});
  REQUIRE(b.fail("c", ErrorClass::host));
  CHECK(b.hosts() == Names{"d", "e"});
  // None of these is left: what was held may be free by now.
  REQUIRE(b.fail("e", ErrorClass::host, first_end + 1s));
  CHECK(b.hosts() == Names{"a", "d"});
}

TEST_CASE("a host that is not reached yet is tried again only if there is no other one") {
  SpareBench b(four);
  REQUIRE(b.fail("b", ErrorClass::host));
  REQUIRE(b.hosts() == Names{"a", "c"});
  b.unreached = {"b"};
  REQUIRE(b.fail("c", ErrorClass::host, first_end + 1h));
  CHECK(b.hosts() == Names{"a", "d"});
  b.unreached = {"b", "c"};
  REQUIRE(b.fail("d", ErrorClass::host, first_end + 2h));
  CHECK(b.hosts() == Names{"a", "b"});
}

TEST_CASE("where the others have no room the task stays") {
  SpareBench b("hosts: [{name: a, slots: 2}, {name: b, slots: 2}, {name: c, slots: 1}]\n");
  CHECK_FALSE(b.fail("a", ErrorClass::host));
  CHECK(b.hosts() == Names{"a", "b"});
}
