// SPDX-License-Identifier: Apache-2.0
// How a run with a context starts: hosts wait until it is packed, and may need long to receive it.
#include <algorithm>

#include "launcher/run/run.hpp"

namespace train {

void Run::handle(const run_event::ContextPacked&) {
  if (!std::exchange(context_awaited_, false) || phase_ != RunPhase::connecting) return;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    HostRun& h = hosts_[host];
    if (h.state != HostState::preparing) continue;
    h.last_progress = now_;
    schedule_check(host);
    act(run_action::SendPrepare{host});
  }
}

void Run::handle(const run_event::ContextFailed& event) {
  if (!std::exchange(context_awaited_, false) || phase_ != RunPhase::connecting) return;
  failures_.push_back({{now_, nanoseconds(0)}, event.why, std::nullopt, -1, 0});
  stop(kill_at_once, {});
}

// Each WantContext must report more bytes than the one before, so that no host can delay a run by
// repeating itself.
void Run::receive(int host, const message::WantContext& m) {
  HostRun& h = hosts_[host];
  if (h.was_stopped_early) return count_repetition(host);
  const bool is_due = h.state == HostState::preparing && rules_.delivery != Delivery::nothing &&
                      !context_awaited_ &&
                      (h.context_taken ? m.taken > *h.context_taken : m.taken == 0);
  if (!is_due) return refuse_unexpected(host, "'want_context'");
  h.context_taken = m.taken;
  h.last_progress = now_;
  act(run_action::SendContext{host, m.taken});
}

milliseconds Run::prepare_limit() const {
  return rules_.delivery == Delivery::nothing ? timing_.prepare_limit : timing_.unpack_limit;
}

// Nothing before the host was told what to prepare.
std::optional<Instant> Run::prepare_deadline(const HostRun& host) const {
  if (host.state != HostState::preparing || context_awaited_) return std::nullopt;
  const bool awaits_memory = host.blocked && host.blocked->is_gpu_memory;
  const milliseconds limit = prepare_limit() + (awaits_memory ? rules_.gpu_wait : milliseconds(0));
  return std::max(host.last_progress, connections_.awake_since()) + limit;
}

}  // namespace train
