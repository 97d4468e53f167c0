// SPDX-License-Identifier: Apache-2.0
// How a driver resumes what a process that has ended has left.
#include <algorithm>
#include <utility>

#include "launcher/drivers/task_driver.hpp"

namespace train {

namespace {

// Whether hosts must be reconnected for this trial: ranks may run, or its attempt was ending.
bool is_to_be_met(const Replay& task, const TrialReplay& trial) {
  const bool is_ending =
      trial.task.attempts().back() == AttemptState::failing || !task.stop_signals.empty();
  return trial.go || (is_ending && trial.attempt == trial.task.attempt());
}

// The last known sign of a host; if it is not of this boot, the boot itself.
Instant last_sign_of(const TrialReplay& trial) { return trial.started_at.value_or(Instant(0)); }

}  // namespace

void TaskDriver::resume() {
  if (work_.is_search) return resume_search();
  const TrialReplay& replay = work_.resume->replay.first();
  const bool is_met = is_to_be_met(work_.resume->replay, replay);
  first().load_replay(*work_.resume);
  if (ports_.open_context && (task().may_restart() || !is_met)) deliver_context();
  may_need_goodbye_ = !is_met;
  meet({&first()}, first().hosts().of_task());
}

// Known trials are resumed by `resume_trials`, once their places are known.
void TaskDriver::resume_search() {
  trials_.begin()->second.is_over = true;
  last_outcome_ = RunOutcome();
  for (const auto& [number, trial] : work_.resume->replay.trials)
    if (trial.task.over()) streams_.adopt_end({number, trial.attempt});
  streams_.expect_strays();
  may_need_goodbye_ = true;
  if (ports_.open_context) deliver_context();
}

// After a move there are none.
void TaskDriver::resume_trials(std::vector<ResumedTrial> trials) {
  std::vector<TrialDriver*> drivers;
  for (ResumedTrial& each : trials) {
    each.work.is_left = true;
    drivers.push_back(
        &make_trial(std::move(each.work), std::make_unique<Hooks>(std::move(each.hooks))));
    drivers.back()->load_replay(*work_.resume);
  }
  std::vector<int> hosts;
  for (int host = 0; host < connections_.count() && !work_.resume->is_moved; ++host)
    if (work_.resume->replay.hosts.contains(connections_.name(host))) hosts.push_back(host);
  meet(drivers, hosts);
}

// An attempt that was only prepared is prepared again; one that was waited for is still waited for.
// For both, a missing agent is no loss; nor is it if all trials have ended.
void TaskDriver::meet(const std::vector<TrialDriver*>& trials, const std::vector<int>& hosts) {
  const Replay& replay = work_.resume->replay;
  std::map<int, Instant> with_ranks;
  std::set<int> to_be_met;
  for (TrialDriver* trial : trials) {
    const TrialReplay& left = replay.trials.at(trial->trial().trial);
    if (!is_to_be_met(replay, left)) continue;
    trial->adopt_run(replay);
    for (const int host : trial->hosts().of_task()) {
      to_be_met.insert(host);
      if (left.go) with_ranks[host] = std::max(with_ranks[host], last_sign_of(left));
    }
  }
  for (const int host : hosts) {
    if (!to_be_met.contains(host)) {
      may_be_missing_[static_cast<std::size_t>(host)] = true;
      streams_.adopt_agent(host);
    }
    const auto ranks = with_ranks.find(host);
    const bool has_ranks = ranks != with_ranks.end();
    carry_out(connections_.adopt(host, has_ranks, has_ranks ? ranks->second : Instant(0),
                                 ports_.timers.now()));
  }
  for (TrialDriver* trial : trials) {
    const TrialReplay& left = replay.trials.at(trial->trial().trial);
    if (!is_to_be_met(replay, left) && trial->task().attempts().back() == AttemptState::running)
      trial->restart_attempt();
  }
  settle();
}

// True if an agent is missing that was not needed: if the host is wanted, another agent is started.
bool TaskDriver::is_missing(const HostNews& news) {
  const int host = std::visit([](const auto& each) { return each.host; }, news);
  const bool was_unknown = may_be_missing_[static_cast<std::size_t>(host)];
  may_be_missing_[static_cast<std::size_t>(host)] = false;
  if (!was_unknown || !std::holds_alternative<host_news::Lost>(news)) return false;
  const bool is_wanted = std::any_of(trials_.begin(), trials_.end(), [host](const auto& each) {
    return !each.second.is_over && each.second.driver->hosts().is_on(host);
  });
  if (is_wanted) carry_out(connections_.recover(host, ports_.timers.now()));
  return true;
}

}  // namespace train
