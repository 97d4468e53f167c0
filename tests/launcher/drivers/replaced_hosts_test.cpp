// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/replaced_hosts.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/drivers/driver_bench.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

struct ReplacedBench {
  void add(int host) {
    AbandonedHost at{Host(), "t-" + std::to_string(host)};
    at.host.name = "h" + std::to_string(host);
    hosts.add(host, at);
  }
  // The last sweep is answered: nothing is left, or an agent is still there.
  void answer(bool is_clean) {
    SweepReport report;
    report.is_running = !is_clean;
    transport.links.back().events.on_open({"10.0.0.1", "ssh"});
    transport.links.back().events.on_bytes(encode_sweep_report(report));
    timers.pass(0s);
  }
  void refuse() {
    transport.links.back().events.on_closed(make_error(ErrorClass::host, "no route to host"));
    timers.pass(0s);
  }
  std::size_t sweeps() const {
    return static_cast<std::size_t>(std::count_if(
        transport.links.begin(), transport.links.end(),
        [](const ManyLinks::Made& link) { return link.call.verb == AgentCall::Verb::sweep; }));
  }

  HandTimers timers;
  ManyLinks transport;
  ReplacedHosts hosts{{timers, transport}, [] { return Goodbye{last_epoch, 1}; }};
};

}  // namespace

TEST_CASE("a host that was replaced is swept until nothing is left there") {
  ReplacedBench b;
  b.add(3);
  b.add(3);
  CHECK(b.sweeps() == 1);
  CHECK(b.hosts.unsettled() == std::set<int>{3});
  for (std::size_t sweep = 2; sweep <= 4; ++sweep) {
    b.refuse();
    b.timers.pass(19s);
    CHECK(b.sweeps() == sweep - 1);
    b.timers.pass(1s);
    CHECK(b.sweeps() == sweep);
  }
  b.answer(true);
  CHECK(b.hosts.unsettled().empty());
  b.timers.pass(1h);
  CHECK(b.sweeps() == 4);
}

TEST_CASE("a host that is used again is not swept any more") {
  ReplacedBench b;
  b.add(1);
  b.add(2);
  b.hosts.remove("h2");
  b.hosts.remove("another");
  CHECK(b.transport.links.at(1).is_closed);
  CHECK(b.hosts.unsettled() == std::set<int>{1});
  for (int i = 0; i < 60; ++i) b.timers.pass(10s);
  CHECK(b.sweeps() > 2);
  for (std::size_t link = 2; link < b.transport.links.size(); ++link)
    if (b.transport.links[link].call.verb == AgentCall::Verb::sweep)
      CHECK(b.transport.links[link].call.key == "t-1");
}
