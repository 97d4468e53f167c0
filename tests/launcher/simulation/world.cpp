// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/simulation/world.hpp"

namespace train::simulation {

using namespace std::chrono_literals;

World::World(Scenario scenario)
    : scenario_(std::move(scenario)),
      trial_(scenario_.trial()),
      chance_(scenario_.seed + 1),
      readiness_{static_cast<int>(scenario_.hosts.size()), 0},
      launcher_(time_, scenario_, trial_, complaints_) {
  for (int host = 0; host < readiness_.hosts; ++host) {
    const HostScript& script = scenario_.hosts[static_cast<std::size_t>(host)];
    hosts_.emplace_back(time_, chance_, scenario_, host,
                        trial_.hosts[static_cast<std::size_t>(host)].first_rank, readiness_,
                        complaints_);
    FakeHost& fake = hosts_.back();
    connections_.push_back(
        {OneWay(time_, chance_, script,
                {[&fake](std::string_view bytes) { fake.receive(bytes); },
                 [&fake] { fake.link_closed(); }}),
         OneWay(time_, chance_, script,
                {[this, host](std::string_view bytes) { launcher_.receive(host, bytes); },
                 [this, host] { launcher_.link_closed(host); }})});
    time_.at(script.connect_delay, [this, host] { connect(host); });
    if (script.fault == HostFault::link_break)
      time_.at(script.fault_at, [this, host] { break_link(host); });
  }
  for (const Instant interrupt : scenario_.interrupts)
    time_.at(interrupt, [this] { launcher_.interrupt(); });
  if (scenario_.has_context)
    time_.at(scenario_.context_packed.value_or(1s), [this] { launcher_.context_done(); });
  if (scenario_.launcher_dies)
    time_.at(*scenario_.launcher_dies, [this] { launcher_.die(scenario_.launcher_dies_silently); });
}

void World::play() {
  constexpr std::uint64_t most_events = 10'000'000;
  while (!endless_ && time_.step()) endless_ = ++events_ > most_events || time_.now() > 3600s;
}

void World::connect(int host) {
  if (launcher_.dead() || !launcher_.expects(host)) return;
  if (!hosts_[static_cast<std::size_t>(host)].reachable())
    return time_.at(time_.now() + 10s, [this, host] { launcher_.unreachable(host); });
  Connection& connection = connections_[static_cast<std::size_t>(host)];
  hosts_[static_cast<std::size_t>(host)].connect(connection.from_host);
  launcher_.connected(host, connection.to_host, connection.from_host);
}

void World::break_link(int host) {
  Connection& connection = connections_[static_cast<std::size_t>(host)];
  if (!hosts_[static_cast<std::size_t>(host)].was_connected()) return;
  connection.to_host.forget();
  connection.from_host.forget();
  connection.to_host.close();
  connection.from_host.close();
}

}  // namespace train::simulation
