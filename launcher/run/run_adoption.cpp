// SPDX-License-Identifier: Apache-2.0
// A run that another process has begun, which has ended since. What is known of it is the process's
// records and what the agents repeat.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/run/run.hpp"

namespace train {

namespace {

// How far back the start is assumed if it is not known (another boot of this machine).
constexpr std::chrono::hours long_ago{24 * 365};
// The number of stop requests that are replayed: beyond the notice and the grace, they only served
// an impatient user.
std::size_t most_stops(const Run::Rules& rules) {
  return rules.stop_notice > milliseconds(0) ? 3 : 2;
}

bool is_same(const Failure& one, const Failure& other) {
  return one.rank == other.rank && one.host == other.host;
}

}  // namespace

std::vector<RunAction> Run::adopt(const Adopted& known, Instant now) {
  now_ = now;
  context_awaited_ = false;
  is_adopted_ = has_gone_ = outcome_.were_told_to_start = true;
  may_be_missed_ = known.go.has_value();
  if (known.go) start_ = *known.go;
  go_at_ = std::min(known.started_at.value_or(now - long_ago), now);
  known_failure_ = known.failure;
  phase_.become(RunPhase::running);
  hang_.begin(now_);
  for (HostRun& host : hosts_) {
    enter(host, HostState::preparing);
    enter(host, HostState::running);
  }
  const std::size_t stops = std::min(known.stop_signals.size(), most_stops(rules_));
  for (std::size_t i = 0; i < stops; ++i) handle(run_event::StopRequested{known.stop_signals[i]});
  if (interrupted_at_) interrupted_at_ = std::min(known.stopped_at.value_or(go_at_), now);
  if (stops == 0 && (known.is_failing || !known.go)) stop_again();
  return std::exchange(actions_, {});
}

void Run::stop_again() {
  const std::string why = known_failure_ ? known_failure_->error.diagnostics.front().message
                                         : "the launcher before this one was stopping the ranks";
  stop(usual_stop(), why + ": stopping all ranks");
}

// Nothing was lost while there was no launcher: an agent keeps the facts about its ranks.
bool Run::is_agent_of_run(int host, const message::AttemptStatus* status) {
  if (!may_be_missed_ || status != nullptr) return true;
  let_go(host, make_error(ErrorClass::host, "its agent knows nothing of these ranks",
                          "the one that had started them has ended, and its ranks with it"));
  return false;
}

// The text for ranks that were stopped without a request of this launcher.
std::string Run::words_of_stop(int host) const {
  const message::OwnStop stop = hosts_[host].own_stop;
  if (is_adopted_ && stop == message::OwnStop::none)
    return "its ranks were stopped, by a launcher that has ended since, or since none was heard of "
           "for too long";
  return words_of(stop == message::OwnStop::none ? message::OwnStop::silence : stop);
}

// The first pong comes after the agent has reported earlier ends.
void Run::align_later(int host, int rank, Instant at) {
  if (!connections_.clock(host).align(at)) unaligned_.push_back({host, rank, at, now_});
}

void Run::align_now() {
  for (const Unaligned& each : unaligned_) {
    const auto aligned = connections_.clock(each.host).align(each.at);
    if (!aligned) continue;
    const AlignedInstant at{std::clamp(aligned->at, go_at_, each.told), aligned->bound};
    outcome_.ranks[each.rank].at = at;
    for (Failure& failure : failures_)
      if (failure.rank == each.rank) failure.at = at;
  }
}

// The recorded first failure has less detail than the one reported now.
void Run::add_known_failure() {
  if (!known_failure_) return;
  const bool is_told =
      std::any_of(failures_.begin(), failures_.end(),
                  [this](const Failure& failure) { return is_same(failure, *known_failure_); });
  if (!is_told) failures_.push_back(*known_failure_);
}

}  // namespace train
