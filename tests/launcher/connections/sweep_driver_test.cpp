// SPDX-License-Identifier: Apache-2.0
#include "launcher/connections/sweep_driver.hpp"

#include <map>
#include <optional>

#include "tests/catch.hpp"
#include "tests/launcher/run/scripted_transport.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

struct SweepBench {
  simulation::VirtualTime time;
  simulation::FakeTimers timers{time};
  ScriptedTransport transport{time};
  std::optional<SweepDriver> driver;
  std::vector<Instant> ends;  // when the sweep was over

  // Until nothing happens any more, also after the end.
  void sweep(const std::vector<std::string>& names, nanoseconds limit = 10s,
             std::optional<Goodbye> goodbye = {}) {
    std::vector<AbandonedHost> hosts;
    for (const std::string& name : names) {
      AbandonedHost& host = hosts.emplace_back();
      host.host.name = name;
      host.key = "task-" + std::to_string(hosts.size() - 1);
    }
    driver.emplace(
        SweepDriver::Ports{timers, transport}, hosts, limit, [this] { ends.push_back(time.now()); },
        goodbye);
    driver->start();
    CHECK(ends.empty());
    while (time.step()) continue;
  }
  std::string why(std::size_t host) const {
    const auto& answer = driver->answers().at(host);
    return answer ? "" : answer.error().diagnostics.front().message;
  }
};

const SweepReport clean;
const SweepReport swept{false, true, 7, {{9, 0, "sleep"}}};
const SweepReport alive{true, true, 0, {}};

}  // namespace

TEST_CASE("every host is asked at once, and the answers are in the order of the hosts") {
  SweepBench bench;
  bench.transport.scripts["slow"] = {5s, encode_sweep_report(swept)};
  bench.transport.scripts["fast"] = {1s, encode_sweep_report(alive)};
  bench.sweep({"slow", "fast"});
  CHECK(bench.transport.asked ==
        std::vector<std::string>{"slow sweep task-0", "fast sweep task-1"});
  REQUIRE(bench.driver->answers().size() == 2);
  CHECK(bench.driver->answers()[0] == swept);
  CHECK(bench.driver->answers()[1] == alive);
  CHECK(bench.ends == std::vector<Instant>{5s});
}

TEST_CASE("a host that never answers a sweep is waited for until the limit, the others are heard") {
  SweepBench bench;
  bench.transport.scripts["good"] = {1s, encode_sweep_report(clean)};
  bench.transport.scripts["half"] = {1s, "{\"is"};
  bench.sweep({"silent", "good", "half"}, 30s);
  CHECK(bench.why(0) == "no answer within 30 s");
  CHECK(bench.driver->answers()[0].error().error_class == ErrorClass::host);
  CHECK(bench.driver->answers()[1] == clean);
  CHECK(bench.why(2) == "no answer within 30 s");
  CHECK(bench.ends == std::vector<Instant>{30s});
}

TEST_CASE("a host that refuses a sweep is not waited for") {
  SweepBench bench;
  bench.transport.scripts["refusing"] = {2s, "", "connection refused"};
  bench.sweep({"refusing"});
  CHECK(bench.why(0) == "connection refused");
  CHECK(bench.ends == std::vector<Instant>{2s});
}

TEST_CASE("an answer after the limit changes nothing") {
  SweepBench bench;
  bench.transport.scripts["late"] = {11s, encode_sweep_report(swept), "the agent exited"};
  bench.transport.scripts["at last"] = {10s, encode_sweep_report(clean)};
  bench.sweep({"late", "at last"});
  CHECK(bench.why(0) == "no answer within 10 s");
  CHECK(bench.why(1) == "no answer within 10 s");
  CHECK(bench.ends == std::vector<Instant>{10s});
}

TEST_CASE("a stream that closes before the report is whole is no answer") {
  SweepBench bench;
  bench.transport.scripts["dying"] = {1s, "{\"is", "the connection was reset"};
  bench.sweep({"dying"});
  CHECK(bench.why(0) == "the connection was reset");
  CHECK(bench.ends == std::vector<Instant>{1s});
}

TEST_CASE("a stream that closes after the report leaves it as it was") {
  SweepBench bench;
  bench.transport.scripts["done"] = {1s, encode_sweep_report(swept), "the agent exited"};
  bench.transport.scripts["slow"] = {2s, encode_sweep_report(clean)};
  bench.sweep({"done", "slow"});
  CHECK(bench.driver->answers()[0] == swept);
  CHECK(bench.ends == std::vector<Instant>{2s});
}

TEST_CASE("what a host says after its report is not read") {
  SweepBench bench;
  bench.transport.scripts["talking"] = {1s,
                                        encode_sweep_report(swept) + encode_sweep_report(clean)};
  bench.sweep({"talking"});
  CHECK(bench.driver->answers()[0] == swept);
  CHECK(bench.ends.size() == 1);
}

TEST_CASE("what is no report of a sweep, or too long for one, is refused") {
  SweepBench bench;
  bench.transport.scripts["wrong"] = {1s, "hello\n"};
  bench.transport.scripts["endless"] = {1s, std::string(longest_sweep_report + 100, 'x')};
  bench.sweep({"wrong", "endless"});
  CHECK_FALSE(bench.driver->answers()[0]);
  CHECK_FALSE(bench.driver->answers()[1]);
  CHECK(bench.ends == std::vector<Instant>{1s});
}

TEST_CASE("a sweep of no host is over without waiting") {
  SweepBench bench;
  bench.sweep({});
  CHECK(bench.ends == std::vector<Instant>{0s});
}

TEST_CASE("a sweep that is given up says nothing any more") {
  SweepBench bench;
  bench.transport.scripts[""] = {5s, encode_sweep_report(swept)};
  bool is_over = false;
  bench.driver.emplace(SweepDriver::Ports{bench.timers, bench.transport},
                       std::vector<AbandonedHost>(1), 10s, [&] { is_over = true; });
  bench.driver->start();
  bench.driver.reset();
  while (bench.time.step()) continue;
  CHECK_FALSE(is_over);
}

TEST_CASE("a sweep that is cut short is over at once, and keeps what it has heard") {
  SweepBench bench;
  bench.transport.scripts["good"] = {1s, encode_sweep_report(clean)};
  bench.transport.scripts["busy"] = {1s, encode_sweep_report(alive)};
  std::unique_ptr<Subscription> cut =
      bench.timers.after(2s, [&bench] { bench.driver->cut_short(); });
  bench.sweep({"silent", "good", "busy"}, 30s, Goodbye{7, 1});
  CHECK(bench.why(0) == "it was not waited for any longer");
  CHECK(bench.driver->answers()[1] == clean);
  REQUIRE(bench.driver->answers()[2]);
  CHECK(bench.driver->answers()[2]->is_running);
  CHECK(bench.ends == std::vector<Instant>{2s});
}

TEST_CASE("the worst answer of a sweep decides what all come to") {
  const Result<SweepReport> gone = fail(ErrorClass::host, "connection refused");
  const SweepReport ended{false, true, 7, {}};
  CHECK(verdict_of({}) == SweepVerdict::clean);
  CHECK(verdict_of({clean, ended}) == SweepVerdict::clean);
  CHECK(verdict_of({clean, alive, ended}) == SweepVerdict::busy);
  CHECK(verdict_of({alive, swept}) == SweepVerdict::unclear);
  CHECK(verdict_of({gone, alive}) == SweepVerdict::unclear);
}

TEST_CASE("an agent that is not dead is told to leave, and its host asked again once it has") {
  SweepBench bench;
  bench.transport.scripts["busy"] = {1s, encode_sweep_report(alive), "the sweep is over"};
  bench.transport.further["busy"] = {{3s, "", "the agent has left"},
                                     {1s, encode_sweep_report(clean), "the sweep is over"}};
  bench.sweep({"busy"}, 30s, Goodbye{7, 40});
  CHECK(bench.transport.asked ==
        std::vector<std::string>{"busy sweep task-0", "busy reattach task-0", "busy sweep task-0"});
  message::Attach attach;
  attach.epoch = 7;
  attach.connection = 40;
  CHECK(bench.transport.sent == frame_of(attach) + frame_of(message::Bye{}));
  REQUIRE(bench.driver->answers()[0]);
  CHECK_FALSE(bench.driver->answers()[0]->is_running);
  CHECK(bench.driver->answers()[0]->was_dismissed);
  CHECK(verdict_of(bench.driver->answers()) == SweepVerdict::clean);
  CHECK(bench.ends == std::vector<Instant>{5s});
}

TEST_CASE("an agent that does not leave is told again, each time on a newer connection") {
  SweepBench bench;
  bench.transport.scripts["stubborn"] = {0s, encode_sweep_report(alive)};
  auto& further = bench.transport.further["stubborn"];
  for (int i = 0; i < 40; ++i) {
    further.push_back({0s, "", "it has closed the stream"});
    further.push_back({0s, encode_sweep_report(alive)});
  }
  bench.sweep({"stubborn"}, 10s, Goodbye{7, 1});
  CHECK(bench.transport.asked.size() == 21);
  CHECK(bench.transport.sent.find("\"connection\":9") != std::string::npos);
  REQUIRE(bench.driver->answers()[0]);
  CHECK(bench.driver->answers()[0]->is_running);
  CHECK(verdict_of(bench.driver->answers()) == SweepVerdict::busy);
  CHECK(bench.ends == std::vector<Instant>{10s});
}

TEST_CASE("a host that is not reached for the goodbye is not known to be clean") {
  SweepBench bench;
  bench.transport.scripts["away"] = {0s, encode_sweep_report(alive)};
  bench.transport.further["away"] = {{1s, "", "no route to host"}, {1s, "", "no route to host"}};
  bench.sweep({"away"}, 10s, Goodbye{7, 1});
  CHECK(bench.why(0) == "no route to host");
  CHECK(bench.ends == std::vector<Instant>{2s});
}
