// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/run/run_bench.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

struct ContextBench : RunBench {
  explicit ContextBench(const std::vector<int>& ranks)
      : RunBench(ranks, 10s, {}, Run::Delivery::context) {}
  std::vector<int> prepared() const {
    std::vector<int> hosts;
    for (const auto& action : all<run_action::SendPrepare>()) hosts.push_back(action.host);
    return hosts;
  }
  // Time passes with heartbeats.
  void live(nanoseconds time, const std::vector<int>& hosts) {
    for (nanoseconds step{0}; step < time; step += 2s) {
      wait(2s);
      tick();
      for (const int host : hosts) say(host, message::Pong{now, now});
    }
  }
};

}  // namespace

TEST_CASE("hosts wait for the context to be packed, however long that takes") {
  ContextBench b({1, 1});
  b.open(0);
  CHECK(b.prepared().empty());
  b.live(400s, {0});
  CHECK_FALSE(b.run.over());
  b.on(run_event::ContextPacked{});
  CHECK(b.prepared() == std::vector{0});
  b.open(1);
  CHECK(b.prepared() == std::vector{1});
  b.ready(0);
  b.ready(1);
  CHECK(b.started() == std::vector{0, 1});
}

TEST_CASE("a context that cannot be packed ends the start, with its reason as the cause") {
  ContextBench b({1, 1});
  b.open(0);
  b.on(run_event::ContextFailed{make_error(ErrorClass::config, "it is too large")});
  CHECK(b.told<message::Bye>() == std::vector{0});
  CHECK(b.cause() == "it is too large");
  CHECK(b.outcome().cause->error.error_class == ErrorClass::config);
}

TEST_CASE("a host that takes its context slowly is waited for, one that stops is not") {
  ContextBench b({1});
  b.on(run_event::ContextPacked{});
  b.open(0);
  for (std::uint64_t taken = 0; taken < 5; ++taken) {
    b.say(0, message::WantContext{taken << 18});
    CHECK(b.all<run_action::SendContext>().at(0).taken == taken << 18);
    b.live(250s, {0});
    CHECK_FALSE(b.run.over());
  }
  b.live(60s, {0});
  CHECK(b.cause() == "host 'h0': was not ready after 300 s");
}

TEST_CASE("a host that takes more of its context lives, though its answers to pings are stuck") {
  ContextBench b({1});
  b.on(run_event::ContextPacked{});
  b.open(0);
  for (std::uint64_t taken = 0; taken < 20; ++taken) {
    b.say(0, message::WantContext{taken * context_piece_size});
    b.live(12s, {});
    CHECK_FALSE(b.run.over());
  }
  b.live(4s, {});
  CHECK(b.cause().starts_with("host 'h0': silent for 16 s"));
}

TEST_CASE("a host that asks for the context out of turn is none of ours") {
  const auto asked = GENERATE(as<std::vector<std::uint64_t>>{}, std::vector<std::uint64_t>{1},
                              std::vector<std::uint64_t>{0, 0}, std::vector<std::uint64_t>{0, 7, 7},
                              std::vector<std::uint64_t>{0, 7, 6});
  ContextBench b({1});
  b.on(run_event::ContextPacked{});
  b.open(0);
  for (const std::uint64_t taken : asked) {
    CHECK_FALSE(b.run.over());
    b.say(0, message::WantContext{taken});
  }
  CHECK(b.cause() == "host 'h0': sent 'want_context' out of turn");
}

TEST_CASE("nobody asks for a context that there is not, or not yet, or not any more") {
  RunBench without({1});
  without.open(0);
  without.say(0, message::WantContext{0});
  CHECK(without.cause() == "host 'h0': sent 'want_context' out of turn");
  ContextBench early({1});
  early.open(0);
  early.say(0, message::WantContext{0});
  CHECK(early.cause() == "host 'h0': sent 'want_context' out of turn");
  ContextBench ready_early({1});
  ready_early.open(0);
  ready_early.ready(0);
  CHECK(ready_early.cause() == "host 'h0': sent 'ready' out of turn");
  ContextBench late({1});
  late.on(run_event::ContextPacked{});
  late.start();
  late.say(0, message::WantContext{0});
  CHECK(late.closed() == std::vector{0});
}

TEST_CASE("a refusal says whether something is missing or the host is in trouble") {
  for (const ErrorClass error_class : {ErrorClass::missing, ErrorClass::host}) {
    RunBench b({1});
    b.open(0);
    b.say(0, message::Refused{{{{}, {}, "x", ""}}, error_class});
    CHECK(b.outcome().cause->error.error_class == error_class);
  }
}
