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
  explicit SpareBench(const std::string& hosts, int blame_limit = 2, Occupancy held = {},
                      int least_workers = 0)
      : all(parse_hosts({"hosts.yaml", hosts}).value()), spares(all, held, 4) {
    ExperimentConfig experiment;
    experiment.entrypoint.shell = "true";
    experiment.workers = 4;
    experiment.least_workers = least_workers;
    experiment.global_batch_size = 12;
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
  bool lose_two() {
    RunOutcome outcome;
    outcome.were_told_to_start = true;
    outcome.cause = failure("b", ErrorClass::host, false);
    outcome.others = {failure("c", ErrorClass::host, false)};
    return end(outcome);
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
  b.unreached = {"a", "c"};
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
  b.unreached = {"a"};
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

TEST_CASE("a host that is back serves at once if there is no room elsewhere") {
  SpareBench b(four);
  REQUIRE(b.fail("a", ErrorClass::host));
  b.unreached = {"a"};
  REQUIRE(b.fail("b", ErrorClass::host, first_end + 1s));
  REQUIRE(b.hosts() == Names{"c", "d"});
  b.unreached = {"a", "b"};
  CHECK_FALSE(b.fail("c", ErrorClass::host, first_end + 2s));
  b.unreached = {"a"};
  REQUIRE(b.fail("c", ErrorClass::host, first_end + 3s));
  CHECK(b.hosts() == Names{"b", "d"});
  CHECK_FALSE(b.next->is_first_failure);
}

TEST_CASE("where the others have no room the task stays") {
  SpareBench b("hosts: [{name: a, slots: 2}, {name: b, slots: 2}, {name: c, slots: 1}]\n");
  CHECK_FALSE(b.fail("a", ErrorClass::host));
  CHECK(b.hosts() == Names{"a", "b"});
}

namespace {

// Four hosts with a slot each, of which one is enough.
SpareBench may_shrink(int least_workers = 1, const Occupancy& held = {}) {
  return SpareBench(held.empty()
                        ? "hosts: [{name: a, slots: 1}, {name: b, slots: 1}, {name: c, slots: 1}, "
                          "{name: d, slots: 1}]\n"
                        : "hosts: [{name: a, slots: 1}, {name: b, slots: 1}, {name: c, slots: 1}, "
                          "{name: d, slots: 1}, {name: e, slots: 1}]\n",
                    2, held, least_workers);
}

// The whole environment of a rank of the next attempt, as text.
std::string environment(const SpareBench& b, int rank) {
  std::string text;
  for (const EnvironmentEntry& entry : b.next->environment_of(rank, 1))
    text += entry.name + "=" + entry.text + ";";
  return text;
}

}  // namespace

TEST_CASE("a trial that may shrink goes on with the hosts that are left, and the whole batch") {
  SpareBench b = may_shrink();
  REQUIRE(b.fail("b", ErrorClass::host));
  CHECK(b.hosts() == Names{"a", "c", "d"});
  CHECK(b.plan.trial.world_size == 3);
  CHECK(b.plan.trial.slots == Quantity::of(3));
  CHECK(b.plan.trial.ranks[1].batch_size == 4);
  CHECK(environment(b, 2).find("WORLD_SIZE=3;") != std::string::npos);
  REQUIRE(b.fail("a", ErrorClass::host, first_end + 1s));
  CHECK(b.hosts() == Names{"c", "d"});
  CHECK(b.plan.trial.ranks[1].batch_size == 6);
  REQUIRE(b.fail("d", ErrorClass::host, first_end + 2s));
  CHECK(b.hosts() == Names{"c"});
  CHECK(b.plan.trial.batch_sum == 12);
  // There is no other: it is waited for.
  b.unreached = {"a", "b", "d"};
  CHECK_FALSE(b.fail("c", ErrorClass::host, first_end + 3s));
  // The experiment is that of the first attempt, by which the next one is placed.
  CHECK(b.plan.experiment.workers == 4);
}

TEST_CASE("it has as few workers as it may have, and is waited for with fewer") {
  SpareBench b = may_shrink(3);
  REQUIRE(b.fail("b", ErrorClass::host));
  CHECK(b.plan.trial.world_size == 3);
  b.unreached = {"b"};
  CHECK_FALSE(b.fail("a", ErrorClass::host, first_end + 1s));
  SpareBench whole = may_shrink(0);
  CHECK_FALSE(whole.fail("b", ErrorClass::host));
}

TEST_CASE("a number of workers that cannot share the batch is passed over") {
  SpareBench b = may_shrink();
  b.plan.experiment.global_batch_size = 16;
  b.plan.experiment.batch_remainder = BatchRemainder::error;
  REQUIRE(b.fail("b", ErrorClass::host));
  CHECK(b.hosts() == Names{"a", "c"});
  CHECK(b.plan.trial.ranks[1].batch_size == 8);
}

TEST_CASE("a smaller trial grows at the next attempt at which its hosts serve again") {
  SpareBench b = may_shrink();
  REQUIRE(b.fail("b", ErrorClass::host));
  REQUIRE(b.plan.trial.world_size == 3);
  RunOutcome failed;
  failed.were_told_to_start = true;
  failed.cause = Failure{{}, make_error(ErrorClass::worker, "why"), std::nullopt, -1, 0};
  // It is left out for a minute, and then only of use once it is reached.
  CHECK_FALSE(b.end(failed, first_end + 30s));
  b.unreached = {"b"};
  CHECK_FALSE(b.end(failed, first_end + 2min));
  b.unreached.clear();
  REQUIRE(b.end(failed, first_end + 3min));
  CHECK(b.hosts() == Names{"a", "b", "c", "d"});
  CHECK(environment(b, 2).find("WORLD_SIZE=4;") != std::string::npos);
  CHECK_FALSE(b.end(failed, first_end + 4min));
}

TEST_CASE("hosts that are there make a smaller trial rather than one that is not reached") {
  SpareBench b = may_shrink();
  REQUIRE(b.fail("b", ErrorClass::host));
  b.unreached = {"b"};
  REQUIRE(b.fail("c", ErrorClass::host, first_end + 1h));
  CHECK(b.hosts() == Names{"a", "d"});
}

TEST_CASE("all workers on slots that others held come before fewer workers") {
  SpareBench b(
      "hosts: [{name: a, slots: 2}, {name: b, slots: 2}, {name: c, slots: 1}, "
      "{name: d, slots: 2}]\n",
      2, {{"b", "task 1", {{0, Quantity::of(1)}, {1, Quantity::of(1)}}}}, 2);
  REQUIRE(b.hosts() == Names{"a", "d"});
  REQUIRE(b.fail("a", ErrorClass::host));
  CHECK(b.hosts() == Names{"b", "d"});
  CHECK(b.plan.trial.world_size == 4);
}

TEST_CASE("growing where no rank starts costs nothing, and is not tried twice in a row") {
  SpareBench b = may_shrink();
  REQUIRE(b.fail("b", ErrorClass::host));
  RunOutcome failed;
  failed.were_told_to_start = true;
  failed.cause = Failure{{}, make_error(ErrorClass::worker, "why"), std::nullopt, -1, 0};
  REQUIRE(b.end(failed, first_end + 3min));
  REQUIRE(b.plan.trial.world_size == 4);
  // Others hold its slot now, which they did not when it failed.
  REQUIRE(b.fail("b", ErrorClass::busy, first_end + 4min, false, false));
  CHECK(b.plan.trial.world_size == 3);
  CHECK(b.next->is_first_failure);
  RunOutcome not_begun = failed;
  not_begun.were_told_to_start = false;
  CHECK_FALSE(b.end(not_begun, first_end + 30min));
  CHECK(b.end(failed, first_end + 31min));
}

TEST_CASE("a program that fails always on one host takes no hosts from a trial that may shrink") {
  SpareBench b = may_shrink();
  CHECK_FALSE(b.rank_fails("b"));
  CHECK_FALSE(b.rank_fails("b"));
  CHECK(b.plan.trial.world_size == 4);
}

TEST_CASE("more workers on what others held are tried before fewer, but not twice in a row") {
  SpareBench b = may_shrink(1, {{"e", "task 1", {{0, Quantity::of(1)}}}});
  REQUIRE(b.hosts() == Names{"a", "b", "c", "d"});
  REQUIRE(b.lose_two());
  CHECK(b.hosts() == Names{"a", "d", "e"});
  REQUIRE(b.fail("e", ErrorClass::busy, first_end + 1s, false, false));
  CHECK(b.next->is_first_failure);
  CHECK(b.hosts() == Names{"a", "d"});
}

TEST_CASE("the place of a smaller trial is known again") {
  SpareBench b = may_shrink(2);
  REQUIRE(b.fail("b", ErrorClass::host));
  const auto again = trial_at(b.plan.experiment, b.all, place_of(b.plan.trial));
  REQUIRE(again);
  CHECK(*again == b.plan.trial);
  ExperimentConfig whole = b.plan.experiment;
  whole.least_workers = 0;
  CHECK_FALSE(trial_at(whole, b.all, place_of(b.plan.trial)));
}
