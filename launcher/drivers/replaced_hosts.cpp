// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/replaced_hosts.hpp"

#include <algorithm>
#include <utility>

namespace train {

namespace {

constexpr std::chrono::seconds pause{20};  // after a sweep in vain
constexpr std::chrono::seconds sweep_limit{30};

}  // namespace

void ReplacedHosts::add(int host, const AbandonedHost& at) {
  if (hosts_.try_emplace(host, Replaced{at, nullptr, nullptr}).second) sweep(host);
}

void ReplacedHosts::remove(const std::string& name) {
  const auto found = std::find_if(hosts_.begin(), hosts_.end(), [&](const auto& each) {
    return each.second.at.host.name == name;
  });
  if (found == hosts_.end()) return;
  if (found->second.sweep) found->second.sweep->forget();
  hosts_.erase(found);
}

std::set<int> ReplacedHosts::unsettled() const {
  std::set<int> hosts;
  for (const auto& [host, replaced] : hosts_) hosts.insert(host);
  return hosts;
}

void ReplacedHosts::sweep(int host) {
  Replaced& replaced = hosts_.at(host);
  // A sweep must not be destroyed while it calls back.
  replaced.sweep = std::make_unique<SweepDriver>(
      ports_, std::vector{replaced.at}, sweep_limit,
      [this, host] {
        hosts_.at(host).next = ports_.timers.after(nanoseconds(0), [this, host] { swept(host); });
      },
      goodbye_());
  replaced.sweep->start();
}

void ReplacedHosts::swept(int host) {
  Replaced& replaced = hosts_.at(host);
  if (verdict_of(replaced.sweep->answers()) == SweepVerdict::clean) {
    hosts_.erase(host);
    return;
  }
  replaced.next = ports_.timers.after(pause, [this, host] { sweep(host); });
}

}  // namespace train
