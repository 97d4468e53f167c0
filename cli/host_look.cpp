// SPDX-License-Identifier: Apache-2.0
#include "cli/host_look.hpp"

#include <algorithm>
#include <chrono>

#include "backends/event_loop/loop.hpp"
#include "cli/talk.hpp"
#include "cli/transports.hpp"
#include "launcher/run/look_driver.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds look_limit{15};

// The parts that it takes, which must outlive each other in this order.
struct Look {
  explicit Look(const std::vector<Host>& hosts)
      : transports(loop, hosts, std::nullopt,
                   [](const std::string& said) { talk(TerminalText(said)); }),
        driver({loop, transports}, hosts, look_limit, [this] { loop.stop(); }) {}

  Loop loop;
  HostTransports transports;
  LookDriver driver;
};

}  // namespace

std::vector<Result<HostReport>> look_at_hosts(const std::vector<Host>& hosts) {
  Look look(hosts);
  look.driver.start();
  look.loop.run();
  return look.driver.answers();
}

LookedAt look_at_hosts(const std::vector<Host>& hosts, StopSignals& signals) {
  Look look(hosts);
  LookedAt seen;
  signals.deliver(look.loop, [&](int number) {
    seen.stop_signal = number;
    look.loop.stop();
  });
  look.driver.start();
  look.loop.run();
  signals.hold_back();
  seen.reports = look.driver.answers();
  return seen;
}

std::vector<std::optional<HostReport>> answered(const std::vector<Result<HostReport>>& reports,
                                                const std::string& own_task) {
  std::vector<std::optional<HostReport>> said;
  for (const Result<HostReport>& report : reports) {
    said.push_back(report ? std::optional(*report) : std::nullopt);
    if (!report || own_task.empty()) continue;
    std::erase_if(said.back()->holders,
                  [&](const LeaseHolder& holder) { return holder.task == own_task; });
  }
  return said;
}

}  // namespace train
