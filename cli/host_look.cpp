// SPDX-License-Identifier: Apache-2.0
#include "cli/host_look.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

#include "backends/event_loop/loop.hpp"
#include "cli/talk.hpp"
#include "launcher/run/look_driver.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds look_limit{15};

std::vector<Result<HostReport>> look(const std::vector<Host>& hosts,
                                     std::optional<int>& stop_signal) {
  Loop loop;
  HostTransports transports(loop, hosts, std::nullopt,
                            [](const std::string& said) { talk(TerminalText(said)); });
  LookDriver driver({loop, transports}, hosts, look_limit, [&loop] { loop.stop(); });
  const auto signals = loop.on_signals({SIGINT, SIGTERM, SIGHUP}, [&](int number) {
    stop_signal = number;
    loop.stop();
  });
  driver.start();
  loop.run();
  return driver.answers();
}

}  // namespace

std::vector<Result<HostReport>> look_at_hosts(const std::vector<Host>& hosts) {
  std::optional<int> stop_signal;
  auto answers = look(hosts, stop_signal);
  // Only now: a terminal where somebody was asked for a passphrase is as it was before.
  if (stop_signal) std::raise(*stop_signal);
  return answers;
}

LookedAt look_at_hosts(const std::vector<Host>& hosts, Reach& reach, StopSignals& signals) {
  Loop loop(reach.loop);
  LookDriver driver({loop, reach.transports}, hosts, look_limit, [&loop] { loop.stop(); });
  LookedAt seen;
  signals.deliver(loop, [&](int number) {
    seen.stop_signal = number;
    loop.stop();
  });
  driver.start();
  loop.run();
  signals.hold_back();
  seen.reports = driver.answers();
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
