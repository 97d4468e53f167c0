// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/simulation/world.hpp"

namespace train::simulation {

using namespace std::chrono_literals;

namespace {

Plan plan_of(const Scenario& scenario) {
  Plan plan;
  plan.trial = scenario.trial();
  plan.experiment.entrypoint.shell = "true";
  plan.experiment.stop_grace = scenario.grace;
  plan.experiment.reconnect_window = scenario.window;
  return plan;
}

}  // namespace

World::World(Scenario scenario)
    : scenario_(std::move(scenario)),
      plan_(plan_of(scenario_)),
      chance_(scenario_.seed + 1),
      readiness_{static_cast<int>(scenario_.hosts.size()), 0},
      timers_(time_),
      transport_(time_, chance_, scenario_, hosts_),
      output_(time_, scenario_, trial_.world_size, complaints_, [this] {
        if (!transport_.is_dead()) driver_->acknowledge_output();
      }) {
  for (int host = 0; host < readiness_.hosts; ++host)
    hosts_.emplace_back(time_, chance_, scenario_, host,
                        trial_.hosts[static_cast<std::size_t>(host)].first_rank, readiness_,
                        complaints_);
  make_driver();
  driver_->start();
  plan_events();
}

void World::make_driver() {
  RunDriver::Ports ports{timers_, transport_, output_};
  if (scenario_.has_context)
    ports.open_context = [this](ContextSource::Events events) {
      return std::make_unique<FakeContext>(time_, scenario_, std::move(events));
    };
  const auto environment_of = [](int) {
    return std::vector<EnvironmentEntry>{{"MASTER_PORT", "", AtLaunch::rendezvous_port},
                                         {"MEGASCALE_PORT", "", AtLaunch::megascale_port},
                                         {"TF_CONFIG", "", AtLaunch::tensorflow_cluster}};
  };
  RunDriver::Hooks hooks;
  hooks.on_all_started = [] {};
  hooks.on_note = [](const std::string&) {};
  hooks.on_stopping = [](const std::string&) {};
  hooks.on_context = [](const ContextSummary&) {};
  hooks.on_context_progress = [](const ContextProgress&) {};
  hooks.on_over = [this] { over_at_ = time_.now(); };
  driver_.emplace(std::move(ports),
                  RunDriver::Attempt{plan_, "taskid", scenario_.ports,
                                     scenario_.has_context ? "sub" : "/", environment_of},
                  std::move(hooks));
}

void World::plan_events() {
  for (int host = 0; host < readiness_.hosts; ++host) {
    const HostScript& script = scenario_.hosts[static_cast<std::size_t>(host)];
    if (script.fault == HostFault::link_break)
      time_.at(script.fault_at, [this, host] { transport_.break_connections(host, {}); });
    for (const Cut& cut : script.cuts)
      if (scenario_.prints_steadily)
        time_.at(cut.end() + 2s, [this, host, cut] { check_flow(host, cut.end()); });
    for (const Break& each : script.breaks)
      time_.at(each.at, [this, host, each] { transport_.break_connections(host, each); });
  }
  for (const Instant interrupt : scenario_.interrupts)
    time_.at(interrupt, [this] {
      if (!transport_.is_dead()) driver_->stop(2);
    });
  if (scenario_.launcher_dies)
    time_.at(*scenario_.launcher_dies, [this] {
      if (!driver_->over()) transport_.die(scenario_.launcher_dies_silently);
    });
}

void World::play() {
  constexpr std::uint64_t most_events = 10'000'000;
  while (!endless_ && time_.step()) {
    endless_ = ++events_ > most_events || time_.now() > 3600s;
    check_losses();
  }
}

}  // namespace train::simulation
