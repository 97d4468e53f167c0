// SPDX-License-Identifier: Apache-2.0
#include "cli/host_look.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include "backends/event_loop/loop.hpp"
#include "launcher/run/look_driver.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds look_limit{15};

}  // namespace

std::vector<Result<HostReport>> look_at_hosts(const std::vector<Host>& hosts, Reach& reach) {
  Loop loop(reach.loop);
  LookDriver driver({loop, reach.transports}, hosts, look_limit, [&loop] { loop.stop(); });
  driver.start();
  loop.run();
  return driver.answers();
}

HostInquiry::HostInquiry(std::vector<Host> hosts)
    : hosts_(std::move(hosts)), reach_(std::in_place, hosts_) {
  signals_.end();
}

HostInquiry::~HostInquiry() {
  reach_.reset();
  signals_.end();
  if (stop_signal_) std::raise(*stop_signal_);
}

std::vector<Result<HostReport>> HostInquiry::look() {
  heed_signals();
  auto reports = look_at_hosts(hosts_, *reach_);
  signals_.end();
  return reports;
}

void HostInquiry::keep_sessions() { reach_->transports.keep_sessions(true); }

void HostInquiry::pause(nanoseconds length, const std::function<bool()>& is_enough) {
  constexpr milliseconds often{100};
  Loop loop(reach_->loop);
  const auto over = loop.after(length, [&loop] { loop.stop(); });
  std::unique_ptr<Subscription> next;
  std::function<void()> ask = [&] {
    if (is_enough()) return loop.stop();
    next = loop.after(often, ask);
  };
  next = loop.after(nanoseconds(0), ask);
  heed_signals();
  loop.run();
  signals_.end();
}

void HostInquiry::heed_signals() {
  signals_.deliver(reach_->loop, [this](int number) {
    stop_signal_ = number;
    reach_->loop.stop();
  });
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
