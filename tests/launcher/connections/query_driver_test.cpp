// SPDX-License-Identifier: Apache-2.0
#include "launcher/connections/query_driver.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/run/scripted_transport.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

struct LookBench {
  simulation::VirtualTime time;
  simulation::FakeTimers timers{time};
  ScriptedTransport transport{time};
  std::optional<QueryDriver> driver;
  std::vector<Instant> ends;

  void look(const std::vector<std::string>& names, nanoseconds limit = 10s) {
    std::vector<Host> hosts;
    for (const std::string& name : names) hosts.emplace_back().name = name;
    driver.emplace(QueryDriver::Ports{timers, transport}, hosts, inspection_query, limit,
                   [this] { ends.push_back(time.now()); });
    driver->start();
    CHECK(ends.empty());
    while (time.step()) continue;
  }
  Result<HostReport> report(std::size_t host) const {
    const auto& answer = driver->answers().at(host);
    return answer ? decode_host_report(answer->line) : tl::make_unexpected(answer.error());
  }
  std::string why(std::size_t host) const {
    const auto answer = report(host);
    return answer ? "" : answer.error().diagnostics.front().message;
  }
};

HostReport report_of(int cpus) {
  HostReport report;
  report.cpus = cpus;
  return report;
}

}  // namespace

TEST_CASE("hosts are looked at all at once, and their answers are in their order") {
  LookBench bench;
  bench.transport.scripts["slow"] = {5s, encode_host_report(report_of(1))};
  bench.transport.scripts["fast"] = {1s, encode_host_report(report_of(2)), "it has left"};
  bench.look({"slow", "fast"});
  CHECK(bench.transport.asked == std::vector<std::string>{"slow look look", "fast look look"});
  REQUIRE(bench.driver->answers().size() == 2);
  CHECK(bench.report(0) == report_of(1));
  CHECK(bench.report(1) == report_of(2));
  CHECK(bench.driver->answers()[1]->at == Instant(1s));
  CHECK(bench.ends == std::vector<Instant>{5s});
}

TEST_CASE("a look ends at its limit, whoever is silent, refuses or says what is no report") {
  LookBench bench;
  bench.transport.scripts["refusing"] = {2s, "", "connection refused"};
  bench.transport.scripts["late"] = {11s, encode_host_report(report_of(1))};
  bench.transport.scripts["strange"] = {1s, "{}\n"};
  bench.transport.scripts["endless"] = {1s, std::string(longest_host_report + 1, 'x')};
  bench.look({"silent", "refusing", "late", "strange", "endless"});
  CHECK(bench.why(0) == "no answer within 10 s");
  CHECK(bench.why(1) == "connection refused");
  CHECK(bench.why(2) == "no answer within 10 s");
  CHECK(bench.why(3).starts_with("what the host says of itself is not understood: "));
  CHECK(bench.why(4) == "what the host says of itself is not understood: it is too long");
  CHECK(bench.ends == std::vector<Instant>{10s});
}

TEST_CASE("who is asked for a passphrase has all the time for it, and the hosts have theirs then") {
  LookBench bench;
  bench.transport.scripts["asking"] = {60s, encode_host_report(report_of(1)), {}, true};
  bench.look({"asking", "silent"});
  CHECK(bench.report(0) == report_of(1));
  CHECK(bench.why(1) == "no answer within 10 s");
  CHECK(bench.ends == std::vector<Instant>{70s});
}

TEST_CASE("a look at no hosts is over at once, but not inside of its start") {
  LookBench bench;
  bench.look({});
  CHECK(bench.ends == std::vector<Instant>{0s});
}
