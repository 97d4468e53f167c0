// SPDX-License-Identifier: Apache-2.0
// The agent and what its trials hold of the host.
#include "launcher/agent/agent.hpp"
#include "launcher/wire/message_limits.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/agent/agent_bench.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr AttemptId first{0, 0};
constexpr AttemptId second{0, 1};
constexpr AttemptId other_trial{1, 0};

/// A bench whose attempts want a slot each.
struct Holders : Bench {
  Holders() {
    window = 60s;
    connect();
  }

  std::vector<AgentAction> say_of(AttemptId of, Message m) { return say(about(std::move(m), of)); }
  std::vector<AgentAction> ask_for(AttemptId of, bool wants_slot = true) {
    message::Prepare m{"taskid", {}, 1, {}, 7s, window};
    m.ranks.push_back({0, {"true", {}}, "/", {}});
    if (wants_slot) m.leases.wants = {{{LeaseKey::Kind::place, 0, {}}, lease_units, lease_units}};
    return say_of(of, m);
  }
  void make_ready(AttemptId of) {
    ask_for(of);
    on(agent_event::HostChecked{{}, {29'500}, "/r", ErrorClass::missing, {}, of});
  }
  void run(AttemptId of) {
    make_ready(of);
    say_of(of, message::Go{"10.0.0.1", 29'500});
    on(agent_event::RankStarted{0, 100, of});
  }
  void end_rank(AttemptId of) {
    on(agent_event::RankEnded{0, 0, std::nullopt, false, now, {}, of});
  }
  void finish(AttemptId of, std::vector<message::Survivor> survivors = {}) {
    end_rank(of);
    on(agent_event::TreeKilled{std::move(survivors), of});
  }
  /// Which trials let go of what they hold when this is said.
  std::vector<int> drop(AttemptId of) {
    std::vector<int> trials;
    for (const auto& end : all<agent_action::EndLeases>(say_of(of, message::DropLeases{})))
      trials.push_back(end.trial);
    return trials;
  }
  std::vector<int> holding() {
    connect();
    return said<message::Hello>(last)->holding;
  }
};

using Trials = std::vector<int>;

}  // namespace

TEST_CASE("an attempt that is ready lets go, and may try again") {
  Holders b;
  b.make_ready(first);
  CHECK(b.drop(first).empty());
  CHECK(all<agent_action::DropLeases>(b.last).size() == 1);
  CHECK(all<agent_action::TakeLeases>(b.say_of(first, message::TakeLeases{})).size() == 1);
  CHECK(b.holding() == Trials{0});
}

TEST_CASE("a trial lets go once its last attempt has finished, and no sooner") {
  Holders b;
  b.ask_for(first);
  CHECK(b.drop(first).empty());
  b.on(agent_event::HostChecked{{}, {29'500}, "/r", ErrorClass::missing, {}, first});
  b.say_of(first, message::Go{"10.0.0.1", 29'500});
  b.on(agent_event::RankStarted{0, 100, first});
  CHECK(b.drop(first).empty());
  b.end_rank(first);  // what it may have left is being killed
  CHECK(b.drop(first).empty());
  CHECK(b.last.empty());
  b.on(agent_event::TreeKilled{{}, first});
  REQUIRE(said<message::Finished>(b.last));
  CHECK(b.holding() == Trials{0});
  CHECK(b.drop(first) == Trials{0});
  CHECK_FALSE(has<agent_action::DropLeases>(b.last));
  CHECK(b.drop(first).empty());  // it has
  CHECK(b.holding().empty());
}

TEST_CASE("an earlier attempt lets go of nothing that a later one may hold") {
  Holders b;
  b.run(first);
  b.finish(first);
  b.run(second);
  CHECK(b.drop(first).empty());
  b.finish(second);
  CHECK(b.drop(first).empty());
  CHECK(b.drop(second) == Trials{0});
}

TEST_CASE("what processes that could not be ended may use is held") {
  Holders b;
  b.run(first);
  b.finish(first, {{105, 0, "true"}});
  CHECK(b.drop(first).empty());
  // One that was refused because of them has finished, too.
  b.ask_for(second);
  REQUIRE(said<message::Refused>(b.last));
  CHECK(b.drop(second).empty());
  CHECK(b.holding() == Trials{0});
}

TEST_CASE("an attempt that was refused while another one runs lets go of nothing") {
  Holders b;
  b.run(first);
  b.ask_for(second);
  REQUIRE(said<message::Refused>(b.last));
  CHECK(b.drop(second).empty());
  b.finish(first);
  CHECK(b.drop(second) == Trials{0});
}

TEST_CASE("a trial whose attempts are forgotten still lets go") {
  Holders b;
  b.run(first);
  b.finish(first);
  b.say(message::Forget{first});
  CHECK(b.holding() == Trials{0});
  SECTION("of what the last one has held") { CHECK(b.drop(first) == Trials{0}); }
  SECTION("though the last one has never come") { CHECK(b.drop(second) == Trials{0}); }
  CHECK(b.holding().empty());
}

TEST_CASE("a trial lets go of what is its own") {
  Holders b;
  b.run(first);
  b.run(other_trial);
  CHECK(b.holding() == Trials{0, 1});
  b.finish(first);
  CHECK(b.drop(first) == Trials{0});
  CHECK(b.holding() == Trials{1});
}

TEST_CASE("a trial that holds nothing has nothing to let go") {
  Holders b;
  CHECK(b.drop(first).empty());  // never heard of
  b.ask_for(first, false);
  b.on(agent_event::HostChecked{{}, {29'500}, "/r", ErrorClass::missing, {}, first});
  b.say_of(first, message::Stop{});
  REQUIRE(said<message::Finished>(b.last));
  CHECK(b.drop(first).empty());
  CHECK(b.holding().empty());
}
