// SPDX-License-Identifier: Apache-2.0
// Hosts that are kept for another attempt.
#include "tests/launcher/run/run_bench.hpp"

using namespace train;
using namespace std::chrono_literals;
using State = RankOutcome::State;

namespace {

struct KeptBench : RunBench {
  explicit KeptBench(Run::Hosts hosts)
      : RunBench({1, 1}, 10s, {}, Run::Delivery::nothing, 60s, hosts) {}
};

}  // namespace

TEST_CASE("hosts that have finished stay connected for the next attempt") {
  KeptBench b(Run::Hosts::kept);
  b.start();
  b.ended(0, 3);
  b.finished(0);
  CHECK(b.has<run_action::Keep>());
  b.ended(1, 143, true);
  b.finished(1);
  CHECK(b.outcome().cause->rank == 0);
  CHECK(b.told<message::Bye>().empty());
  CHECK(b.closed().empty());
}

TEST_CASE("the hosts of a first attempt that starts nothing are not kept") {
  KeptBench b(Run::Hosts::kept);
  b.open(0);
  b.open(1);
  b.ready(0);
  b.say(1, message::Refused{{{{}, {}, "no such program", {}}}, ErrorClass::missing});
  CHECK(b.run.over());
  CHECK(b.told<message::Bye>() == std::vector{0});
  CHECK(b.closed() == std::vector{1, 0});
}

TEST_CASE("a later attempt that cannot start has its hosts stopped, and waits for their word") {
  KeptBench b(Run::Hosts::kept_always);
  b.open(0);
  b.open(1);
  b.ready(0);
  b.say(1, message::Refused{{{{}, {}, "no such program", {}}}, ErrorClass::missing});
  CHECK_FALSE(b.run.over());
  CHECK(b.told<message::Stop>() == std::vector{0});
  CHECK(b.closed().empty());
  // What the host said before it heard of that.
  b.ready(0);
  CHECK_FALSE(b.run.over());
  b.finished(0);
  CHECK(b.outcome().cause->host == 1);
  CHECK(b.closed().empty());
}

TEST_CASE("a host that does not answer to the stop of an attempt that never began is let go") {
  KeptBench b(Run::Hosts::kept_always);
  b.open(0);
  b.open(1);
  b.interrupt();
  CHECK(b.told<message::Stop>() == std::vector{0, 1});
  b.finished(0);
  while (!b.run.over()) {
    b.now = *b.next_deadline();
    b.tick();
    b.pong(1);
  }
  CHECK(b.closed() == std::vector{1});
  REQUIRE(b.outcome().leftovers.size() == 1);
  CHECK(b.outcome().leftovers[0].host == 1);
}

TEST_CASE("a host that is being reached while another attempt fails goes on being reached") {
  KeptBench b(Run::Hosts::kept_always);
  b.open(0);
  b.interrupt();
  b.finished(0);
  CHECK(b.run.over());
  CHECK(b.closed().empty());
}

TEST_CASE("a host that is away while it prepares is told again when it does not know the attempt") {
  KeptBench b(Run::Hosts::kept_always);
  b.open(0);
  b.connections.begin_ranks(0, b.now);  // of an earlier attempt
  b.say(0, message::Hello{wire_version, "h", "boot", 1, {}});
  b.lose(0);
  b.on(connection_event::HostReopened{0});
  const bool knows = GENERATE(false, true);
  message::Hello hello{wire_version, "h", "boot", 1, {}};
  if (knows) hello.attempts.push_back({});
  b.say(0, hello);
  CHECK(b.has<run_action::SendPrepare>() == !knows);
}

TEST_CASE("a host that says once more that it is ready is not let go") {
  KeptBench b(Run::Hosts::kept_always);
  b.open(0);
  b.open(1);
  b.connections.begin_ranks(0, b.now);  // of an earlier attempt
  const message::Hello hello{wire_version, "h", "boot", 1, {{{}, false}}};
  b.say(0, hello);
  b.ready(0);
  b.lose(0);
  b.on(connection_event::HostReopened{0});
  b.say(0, hello);
  b.ready(0);
  CHECK(b.closed().empty());
  b.ready(1);
  CHECK(b.run.phase() == RunPhase::running);
}

TEST_CASE("a host whose agent has failed is not kept: it would refuse all that follows") {
  KeptBench b(Run::Hosts::kept);
  b.start();
  b.say(0, message::AgentFailed{"out of memory"});
  b.ended(0, std::nullopt, true);
  b.finished(0);
  CHECK(b.has<run_action::Dismiss>());
  CHECK_FALSE(b.has<run_action::Keep>());
  b.ended(1, 143, true);
  b.finished(1);
  CHECK(b.has<run_action::Keep>());
}

TEST_CASE("a host in trouble that refuses a later attempt is let go, to be reached anew") {
  KeptBench b(Run::Hosts::kept_always);
  b.open(0);
  b.open(1);
  b.say(0, message::Refused{{{{}, {}, "disk full", {}}}, ErrorClass::host});
  CHECK(b.closed() == std::vector{0});
}

TEST_CASE("a host of a later attempt may lack the context, which is packed already") {
  RunBench b({1, 1}, 10s, {}, Run::Delivery::packed_context, 60s, Run::Hosts::kept_always);
  b.open(0);
  CHECK(b.has<run_action::SendPrepare>());
  b.say(0, message::WantContext{0});
  CHECK(b.has<run_action::SendContext>());
  CHECK(b.closed().empty());
}
