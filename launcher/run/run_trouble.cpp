// SPDX-License-Identifier: Apache-2.0
// Problems that hosts report: file systems that do not answer, ports taken by other users, agents
// that fail.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config_schema/text/duration.hpp"
#include "launcher/run/run.hpp"

namespace train {

namespace {

using std::chrono::seconds;

// For all hosts together: more lines would only scroll past.
constexpr int most_notes = 3;

constexpr const char* mend_file_system =
    "mend or unmount that file system, or use a working directory and a program elsewhere";

std::string awaited(const message::Blocked& blocked, nanoseconds so_far) {
  return fmt::format("{} for {} s: {}",
                     blocked.is_gpu_memory ? "the memory of its GPUs has not been free"
                                           : "its file system has not answered",
                     so_far / seconds(1), blocked.what);
}

}  // namespace

void Run::receive(int host, const message::Blocked& m) {
  HostRun& h = hosts_[host];
  if (h.state != HostState::preparing && h.state != HostState::running)
    return refuse_unexpected(host, "'blocked'");
  count_repetition(host);
  if (h.state == HostState::failed) return;
  h.blocked = m;
  h.blocked_at = now_;
  if (h.state == HostState::running && phase_ == RunPhase::running &&
      m.so_far >= timing_.start_limit)
    return host_in_trouble(
        host, {now_, nanoseconds(0)},
        make_error(ErrorClass::host, "does not start its ranks: " + awaited(m, m.so_far),
                   mend_file_system));
  if (m.so_far < timing_.block_notice || notes_ >= most_notes) return;
  if (std::exchange(h.is_noted, true)) return;
  std::string text = fmt::format("host '{}': {}", name(host), awaited(m, m.so_far));
  if (++notes_ == most_notes) text += " (further hosts that wait are not named)";
  act(host_action::Note{std::move(text)});
}

// An agent repeats what it waits for: without a recent repetition, it no longer waits.
Error Run::not_ready(const HostRun& host) const {
  if (host.blocked && now_ - host.blocked_at <= 3 * connections_.timing().heartbeat)
    return make_error(
        ErrorClass::host,
        "was not ready: " + awaited(*host.blocked, host.blocked->so_far + (now_ - host.blocked_at)),
        host.blocked->is_gpu_memory ? "" : mend_file_system);
  return make_error(
      ErrorClass::host, fmt::format("was not ready after {} s", prepare_limit() / seconds(1)),
      "look for a hanging file system under the working directory or PATH, or a busy host");
}

// The port was taken at some moment since the ranks were told to start. With that instant, the
// failure counts before the failures of ranks that could not use the port.
void Run::receive(int host, const message::PortTaken& m) {
  HostRun& h = hosts_[host];
  const bool is_held =
      std::find(h.held_ports.begin(), h.held_ports.end(), m.port) != h.held_ports.end();
  if (h.state != HostState::running || !is_held) return refuse_unexpected(host, "'port_taken'");
  if (std::exchange(h.is_port_taken, true)) return count_repetition(host);
  host_in_trouble(
      host, sometime(go_at_, now_),
      make_error(ErrorClass::host,
                 fmt::format("port {}, which was held for the ranks, is listened on by user {} "
                             "(process unknown)",
                             m.port, m.uid),
                 "another user of that host took it while the ranks started: launch again, and "
                 "have the administrator ask that user"));
}

// A launcher with a slow disk may enter and leave this state often: the number of notes is limited.
void Run::receive(int host, const message::OutputBlocked& m) {
  constexpr int most_blocked_reports = 3;
  HostRun& h = hosts_[host];
  if (std::exchange(h.is_output_blocked, m.is_blocked) == m.is_blocked)
    return count_repetition(host);
  hang_.progress(now_);
  if (m.is_blocked) ++h.output_blocked_reports;
  if (h.output_blocked_reports > most_blocked_reports) return count_repetition(host);
  if (!m.is_blocked)
    return act(host_action::Note{fmt::format("host '{}': its output goes on", name(host))});
  act(host_action::Note{fmt::format(
      "host '{}': its output waits, since there is no room for more of it there ({:.1f} MiB are "
      "kept); its ranks wait once their pipes are full",
      name(host), static_cast<double>(m.kept) / (1 << 20))});
}

void Run::receive(int host, const message::StopsRanks& m) {
  HostRun& h = hosts_[host];
  if (h.state != HostState::running) return refuse_unexpected(host, "'stops_ranks'");
  if (std::exchange(h.own_stop, m.why) != message::OwnStop::none) return count_repetition(host);
  if (phase_ == RunPhase::running)
    host_in_trouble(host, align(host, m.at), make_error(ErrorClass::host, words_of(m.why)));
}

void Run::receive(int host, const message::NoStopFile& m) {
  HostRun& h = hosts_[host];
  if (h.state != HostState::running) return refuse_unexpected(host, "'no_stop_file'");
  if (std::exchange(h.has_no_stop_file, true) || notes_ >= most_notes)
    return count_repetition(host);
  ++notes_;
  act(host_action::Note{fmt::format(
      "host '{}': the stop file of its ranks is missing, and they are stopped without: {}",
      name(host), m.reason)});
}

void Run::note_shared_cores(int host) {
  if (std::exchange(has_noted_shared_cores_, true)) return;
  act(host_action::Note{fmt::format(
      "host '{}': a rank would get less than one core with 'cpu_binding: exclusive', so ranks "
      "share those of their NUMA node there (further hosts are not named)",
      name(host))});
}

void Run::watch_progress() {
  if (phase_ != RunPhase::running) return;
  const HangWatch::Step step = hang_.next(now_);
  if (step == HangWatch::Step::none) return;
  if (!can_anything_come()) return hang_.postpone(now_ + connections_.timing().heartbeat);
  switch (step) {
    case HangWatch::Step::none:
      return;
    case HangWatch::Step::ask:
    case HangWatch::Step::ask_states:
      return look_at_ranks(step == HangWatch::Step::ask_states);
    case HangWatch::Step::tell:
      return act(host_action::Note{fmt::format(
          "no rank has printed or reported anything, or touched its heartbeat file, for {}",
          duration_text(hang_.silence(now_)))});
    case HangWatch::Step::hang:
      return ranks_hang();
  }
}

// From all ranks that run: no host is out of reach, or was not reached since this launcher took
// over, or has no room for output; and there is one that has not ended.
bool Run::can_anything_come() const {
  bool is_any_left = false;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const HostRun& h = hosts_[host];
    if (h.state != HostState::running || h.ranks_left == 0) continue;
    const bool is_missed = is_adopted_ && !h.was_resumed;
    if (is_missed || connections_.is_away(host) || h.is_output_blocked) return false;
    is_any_left = true;
  }
  return is_any_left;
}

void Run::look_at_ranks(bool wants_states) {
  std::set<int> asked;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    if (hosts_[host].state != HostState::running || hosts_[host].ranks_left == 0) continue;
    act(host_action::Send{host, message::LookAtRanks{wants_states}});
    asked.insert(host);
  }
  hang_.asked(std::move(asked), now_);
}

// An answer may come late, or after its ranks have ended or were told to.
void Run::receive(int host, const message::RanksSeen& m) {
  if (hosts_[host].state != HostState::running) return refuse_unexpected(host, "'ranks_seen'");
  for (const RankState& seen : m.states)
    if (outcome_of(host, seen.rank, "'ranks_seen'") == nullptr) return;
  if (!hang_.answered(host, m, now_)) count_repetition(host);
  watch_progress();
}

// A rank that cannot go on where it is counts as the cause, if all of these are on one host; what
// others do at one moment says too little about their hosts.
void Run::ranks_hang() {
  std::vector<int> left;
  for (int rank = 0; rank < world_size(); ++rank) {
    const RankOutcome& known = outcome_.ranks[rank];
    const bool is_starting = known.state == RankOutcome::State::not_started && !known.never_started;
    if (is_starting || known.state == RankOutcome::State::running) left.push_back(rank);
  }
  const milliseconds silence = std::chrono::floor<milliseconds>(hang_.silence(now_));
  HangReport report = hang_report(silence, left, hang_.take_states());
  Failure failure{{now_, nanoseconds(0)}, {}, std::nullopt, -1, 0};
  const auto odd = std::find_if(report.groups.begin(), report.groups.end(),
                                [](const HangGroup& group) { return group.is_odd; });
  std::string what =
      fmt::format("nothing has come from any rank for {} (hang_timeout)", duration_text(silence));
  if (odd == report.groups.end() && report.groups.size() == 1) what += ", and all do the same";
  if (odd != report.groups.end()) {
    what = fmt::format("{}; {}", line_of(*odd, trial_), what);
    const int host = trial_.ranks[odd->ranks.front()].host;
    const bool is_on_one_host = std::all_of(odd->ranks.begin(), odd->ranks.end(), [&](int rank) {
      return trial_.ranks[rank].host == host;
    });
    if (odd->is_stuck && is_on_one_host) {
      failure.rank = odd->ranks.front();
      failure.host = host;
    }
  }
  failure.error = make_error(ErrorClass::hang, std::move(what));
  act(run_action::Hangs{std::move(report)});
  failures_.push_back(std::move(failure));
  stop(usual_stop(), "stopping all ranks");
}

void Run::receive(int host, const message::AgentFailed& m) {
  if (std::exchange(hosts_[host].has_agent_failed, true)) return count_repetition(host);
  const Error why =
      make_error(ErrorClass::host, "its agent failed: " + m.reason, "its ranks are stopped");
  if (hosts_[host].state == HostState::running)
    return host_in_trouble(host, {now_, nanoseconds(0)}, why);
  let_go(host, why);
}

// The host can still be talked to: it is stopped like all others, and reports the ends of its
// ranks.
void Run::host_in_trouble(int host, const AlignedInstant& since, Error why) {
  failures_.push_back({since, with_context(std::move(why), fmt::format("host '{}'", name(host))),
                       std::nullopt, host, 0});
  stop(usual_stop(), failures_.back().error.diagnostics.front().message);
}

}  // namespace train
