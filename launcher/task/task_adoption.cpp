// SPDX-License-Identifier: Apache-2.0
// How a driver goes on with what another process has left that has ended.
#include <utility>

#include "launcher/task/task_driver.hpp"

namespace train {

// Ranks that may run are met again, and so is an attempt whose end was under way. One that was only
// prepared is prepared once more, and one that is waited for still is; for those an agent that is
// gone is no loss.
void TaskDriver::resume() {
  const Replay& replay = work_.resume->replay;
  is_hopeless_ = replay.is_hopeless;
  look_back();
  stops_ = replay.stop_signals;
  const AttemptState last = task_.attempts().back();
  const bool is_ending = last == AttemptState::failing || !replay.stop_signals.empty();
  const bool is_begun = replay.go || (is_ending && replay.attempt == task_.attempt());
  if (ports_.open_context && (task_.may_restart() || !is_begun)) deliver_context();
  if (is_begun) {
    adopt_run();
  } else {
    may_be_missing_.assign(trial_.hosts.size(), true);
    may_owe_goodbye_ = true;
    for (int host = 0; host < connections_.count(); ++host) streams_.adopt_agent(host);
    look_for_agents(false);
    if (last == AttemptState::running) perform(task_action::BeginAttempt{task_.attempt()});
  }
  settle();
}

// Reports in the logs are counted there. What a policy has found may have been told to nobody, and
// what was told may not have been written down.
void TaskDriver::look_back() {
  const auto& policies = work_.plan.experiment.log_policies;
  const int attempt = work_.resume->replay.attempt;
  for (const std::size_t policy : work_.resume->known_matches) {
    log_watch_.know(policy);
    if (policies[policy].cancels_retries) note_hopeless(attempt);
  }
  for (const OutputChunk& chunk : std::exchange(work_.resume->last_output, {})) {
    (void)metrics_watch_.look(chunk);
    matched(log_watch_.look(chunk), attempt);
  }
  ignored_lines_ = metrics_watch_.ignored();
}

void TaskDriver::adopt_run() {
  const Replay& replay = work_.resume->replay;
  Run::Adopted known;
  known.go = replay.go;
  known.started_at = replay.started_at;
  known.is_failing = task_.attempts().back() == AttemptState::failing;
  known.failure = replay.failure;
  known.stop_signals = replay.stop_signals;
  known.stopped_at = replay.stopped_at;
  go_ = Go::allowed;
  for (int host = 0; host < connections_.count(); ++host) streams_.adopt_ranks(host);
  run_.emplace(trial_, connections_, run_rules());
  for (const RunAction& action : run_->adopt(known, ports_.timers.now()))
    std::visit([this](const auto& a) { perform(a); }, action);
  look_for_agents(replay.go.has_value());
}

// Where an instant of this boot is not known, a host was there at the boot at the latest.
void TaskDriver::look_for_agents(bool have_ranks) {
  const Instant heard = work_.resume->replay.started_at.value_or(Instant(0));
  carry_out(connections_.adopt(have_ranks, heard, ports_.timers.now()));
}

// True where an agent that would have been of use is not there: then another one is.
bool TaskDriver::is_missing(const HostNews& news) {
  const int host = std::visit([](const auto& each) { return each.host; }, news);
  const bool was_unknown = may_be_missing_[static_cast<std::size_t>(host)];
  may_be_missing_[static_cast<std::size_t>(host)] = false;
  if (!was_unknown || !std::holds_alternative<host_news::Lost>(news)) return false;
  carry_out(connections_.reach_anew(host, ports_.timers.now()));
  return true;
}

}  // namespace train
