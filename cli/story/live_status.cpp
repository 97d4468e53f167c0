// SPDX-License-Identifier: Apache-2.0
#include "cli/story/live_status.hpp"

#include <array>
#include <utility>

#include "cli/terminal/bottom_rows.hpp"

namespace train {

namespace {

constexpr milliseconds first_look{700};  // shorter launches show nothing
constexpr milliseconds while_starting{250};
constexpr milliseconds while_running{1'000};
constexpr std::size_t most_unfinished = 4;

// In the order of the steps of a host. One that is through with its part is not named.
constexpr std::array shown_states = {HostState::connecting, HostState::preparing, HostState::ready,
                                     HostState::running};

LaunchStatus::Phase shown_phase(RunPhase phase) {
  switch (phase) {
    case RunPhase::connecting:
      return LaunchStatus::Phase::starting;
    case RunPhase::running:
      return LaunchStatus::Phase::running;
    case RunPhase::stopping:
    case RunPhase::over:
      break;
  }
  return LaunchStatus::Phase::stopping;
}

}  // namespace

void LiveStatus::follow(const TaskDriver& driver) {
  driver_ = &driver;
  phase_began_ = timers_.now();
  next_ = timers_.after(first_look, [this] { draw(); });
}

void LiveStatus::end() {
  driver_ = nullptr;
  next_.reset();
  terminal_.show_below({});
}

void LiveStatus::draw() {
  std::vector<std::string> rows;
  const bool has_run = driver_->has_run() && !driver_->run().over();
  if (has_run && screen_of_stderr()) rows = launch_status_rows(status(driver_->run()));
  terminal_.show_below(std::move(rows));
  const bool is_starting = has_run && phase_ == RunPhase::connecting;
  next_ = timers_.after(is_starting ? while_starting : while_running, [this] { draw(); });
}

LaunchStatus LiveStatus::status(const Run& run) {
  const int attempt = driver_->task().attempt();
  if (run.phase() != phase_ || attempt != attempt_) {
    phase_ = run.phase();
    attempt_ = attempt;
    phase_began_ = timers_.now();
  }
  LaunchStatus status;
  status.phase = shown_phase(phase_);
  for (const HostState state : shown_states) {
    std::vector<std::string> hosts;
    for (std::size_t host = 0; host < trial_.hosts.size(); ++host)
      if (run.host_state(static_cast<int>(host)) == state)
        hosts.push_back(trial_.hosts[host].host.name);
    if (!hosts.empty()) status.hosts.emplace_back(host_states().row(state).name, std::move(hosts));
  }
  status.ranks = run.world_size();
  status.ranks_left = run.ranks_left();
  status.elapsed = std::chrono::duration_cast<milliseconds>(timers_.now() - phase_began_);
  status.restart = attempt;
  status.max_restarts = driver_->task().rules().max_restarts;
  if (!task_.attempts.empty()) status.last_report = task_.attempts.back().last_report;
  status.unfinished = output_.rewritten_lines(most_unfinished);
  add_usage(run, status);
  return status;
}

// Hosts report the CPU time of ranks every few seconds; between two reports the mean is known.
void LiveStatus::add_usage(const Run& run, LaunchStatus& status) {
  const Instant now = timers_.now();
  for (int rank = 0; rank < run.world_size(); ++rank) {
    const RankUsage* usage = run.usage_of(rank);
    if (usage == nullptr || !usage->memory) {  // not reported yet, or ended
      used_.erase(rank);
      continue;
    }
    const auto [found, is_new] = used_.try_emplace(rank, Used{usage->cpu, now});
    Used& used = found->second;
    if (!is_new && usage->cpu != used.cpu) {
      using Seconds = std::chrono::duration<double>;
      used = {usage->cpu, now, Seconds(usage->cpu - used.cpu) / Seconds(now - used.at)};
    }
    if (used.cpus) status.cpus = status.cpus.value_or(0) + *used.cpus;
    status.memory = status.memory.value_or(0) + *usage->memory;
  }
}

}  // namespace train
