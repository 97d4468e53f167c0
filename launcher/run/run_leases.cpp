// SPDX-License-Identifier: Apache-2.0
// The leases that hosts take for the task before its ranks start.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/lease/lease_words.hpp"
#include "launcher/run/run.hpp"

namespace train {

namespace {

constexpr std::size_t most_listed = 4;

// The text has no durations: a waiting user is told again only when the text changes.
Error held_by_others(const std::vector<LeaseHolder>& blockers) {
  std::vector<Diagnostic> problems;
  for (const LeaseHolder& holder : blockers) {
    if (problems.size() == most_listed) break;
    if (holder.is_waiting) {
      problems.push_back({{}, {}, waiting_words_of(holder), {}});
      continue;
    }
    const std::string what = words_of(holder.leases);
    problems.push_back({{}, {}, fmt::format("{} held by {}", what, short_words_of(holder)), {}});
  }
  const bool are_foreign = std::all_of(blockers.begin(), blockers.end(),
                                       [](const auto& holder) { return holder.pid > 0; });
  problems.back().hint = fmt::format(
      "wait for it (--wait), ask for other hosts or fewer slots, or start beside it: {}",
      are_foreign ? "--allow-busy" : "--set leases=none");
  return {ErrorClass::busy, std::move(problems)};
}

}  // namespace

void Run::receive(int host, const message::Leases& m) {
  const HostRun& h = hosts_[host];
  if (h.was_stopped_early) return count_repetition(host);
  const bool is_known = h.state == HostState::ready || h.state == HostState::running;
  if (!is_known) return refuse_unexpected(host, "'leases'");
  if (h.state == HostState::running || !leases_.is_expected(host))
    return repeated_fact(host, "'leases'");
  leases_.answered(host, m.blockers, now_);
  act_on_leases();
}

void Run::act_on_leases() {
  if (phase_ != RunPhase::connecting) return;
  for (const int host : leases_.take_silent())
    let_go(host, make_error(ErrorClass::host, "it does not say whether it holds the task's slots"));
  if (phase_ != RunPhase::connecting) return;
  for (const LeaseRound::Action& action : leases_.take_actions()) {
    if (hosts_[action.host].state != HostState::ready) continue;
    if (action.step == LeaseRound::Step::take)
      act(host_action::Send{action.host, message::TakeLeases{rules_.of}});
    else
      act(host_action::Send{action.host, message::DropLeases{rules_.of}});
  }
  const auto conflict = leases_.take_conflict();
  if (!conflict) return decide_start();
  const Error why = held_by_others(conflict->blockers);
  if (!keeps_hosts()) return let_go(conflict->host, why);
  // The agent stays, and must end this attempt.
  act(host_action::Send{conflict->host, kill_at_once});
  host_failed(conflict->host, why);
}

}  // namespace train
