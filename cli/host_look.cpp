// SPDX-License-Identifier: Apache-2.0
#include "cli/host_look.hpp"

#include <chrono>

#include "backends/event_loop/loop.hpp"
#include "cli/talk.hpp"
#include "cli/transports.hpp"
#include "launcher/run/look_driver.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds look_limit{15};

}  // namespace

std::vector<Result<HostReport>> look_at_hosts(const std::vector<Host>& hosts) {
  Loop loop;
  HostTransports transports(loop, hosts, std::nullopt,
                            [](const std::string& said) { talk(TerminalText(said)); });
  LookDriver look({loop, transports}, hosts, look_limit, [&] { loop.stop(); });
  look.start();
  loop.run();
  return look.answers();
}

}  // namespace train
