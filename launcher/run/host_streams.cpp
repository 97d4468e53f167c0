// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/host_streams.hpp"

#include <algorithm>
#include <utility>

#include "launcher/record/task_record.hpp"

namespace train {

namespace {

// A host that does not answer yet is tried again, so its return is noticed soon.
constexpr milliseconds reconnect_limit{800};
// How long the end waits for dismissed agents. An agent that does not get the Bye leaves later.
constexpr milliseconds leave_limit{1'000};
// The same for one whose host was out of reach: it is told over another connection.
constexpr milliseconds late_leave_limit{5'000};
// How long a host may take to look for what an agent of this task has left.
constexpr milliseconds sweep_limit{10'000};
// Number of attempts per trial of which an agent may still hold output.
constexpr int most_positions = 4;
// Facts of one attempt that do not concern single ranks.
constexpr int most_facts_of_host = 8;

}  // namespace

HostStreams::HostStreams(Ports ports, std::vector<Host> hosts, std::string task_id, Hooks hooks,
                         Supervisor supervisor)
    : ports_(ports),
      addresses_(std::move(hosts)),
      task_id_(std::move(task_id)),
      hooks_(std::move(hooks)),
      epoch_(supervisor.epoch),
      launcher_(std::move(supervisor.launcher)),
      ends_lost_agents_(supervisor.ends_lost_agents) {
  const std::size_t window = output_window(supervisor.hosts_at_once);
  hosts_.reserve(addresses_.size());
  for (std::size_t i = 0; i < addresses_.size(); ++i) hosts_.emplace_back(window);
}

void HostStreams::adopt_attempt(AttemptId of, const Trial& trial, const TrialHosts& hosts,
                                std::vector<std::uint64_t> positions) {
  AttemptOutput output(trial, hosts);
  positions.resize(output.positions.size());
  output.positions = std::move(positions);
  trials_.emplace(of.trial,
                  TrialStreams{of.attempt, of.attempt, {{of.attempt, std::move(output)}}});
}

HostStreams::AttemptOutput::AttemptOutput(const Trial& trial, const TrialHosts& on)
    : hosts(on), first_ranks{0}, positions(2 * trial.ranks.size()) {
  for (const PlannedHost& host : trial.hosts)
    first_ranks.push_back(first_ranks.back() + host.rank_count);
}

void HostStreams::begin_attempt(AttemptId of, const Trial& trial, const TrialHosts& hosts) {
  const auto found = trials_.find(of.trial);
  if (found == trials_.end()) return adopt_attempt(of, trial, hosts, {});
  TrialStreams& streams = found->second;
  if (of.attempt == streams.attempt) return;
  const AttemptId before{of.trial, streams.attempt};
  for (const int host : streams.hosts().of_task()) forget_later(host, before);
  streams.attempt = of.attempt;
  streams.output.emplace(of.attempt, AttemptOutput(trial, hosts));
  if (streams.output.size() > most_positions) streams.output.erase(streams.output.begin());
}

void HostStreams::end_trial(int trial) {
  const auto found = trials_.find(trial);
  if (found == trials_.end()) return;
  const AttemptId last{trial, found->second.attempt};
  ended_.insert_or_assign(trial, last.attempt);
  for (const int host : found->second.hosts().of_task()) {
    end_leases(host, trial);
    forget_later(host, last);
  }
  trials_.erase(found);
}

// Does nothing while the trial has not ended. An agent ignores it while something of the trial
// still runs.
void HostStreams::end_leases(int host, int trial) {
  const auto ended = ended_.find(trial);
  if (ended != ended_.end()) send(host, frame_of(message::DropLeases{{trial, ended->second}}));
}

void HostStreams::forget_later(int host, AttemptId of) {
  Stream& stream = this->of(host);
  stream.finished.erase(of);
  stream.to_forget.insert(of);
  for (const auto* kept : {&stream.written, &stream.received})
    if (!kept->empty()) stream.forget_behind = kept->back().output_number;
  forget(stream);
}

// An agent that forgets an attempt drops the output that it keeps of it.
void HostStreams::forget(Stream& stream) {
  HostLink* const agent = stream.now.to_agent();
  if (agent == nullptr || ports_.output.synced() < stream.forget_behind) return;
  for (const AttemptId attempt : std::exchange(stream.to_forget, {}))
    agent->send(frame_of(message::Forget{attempt}));
}

void HostStreams::perform(const host_action::Send& action) {
  if (std::holds_alternative<message::Bye>(action.message)) of(action.host).was_dismissed = true;
  send(action.host, frame_of(action.message));
}

void HostStreams::perform(const host_action::Open& action) {
  if (has_left_) return;
  const int host = action.host;
  Stream& stream = of(host);
  drop(stream.now);
  stream.now.number = ++stream.opened;
  LinkEvents events = events_of(host, stream.opened);
  events.on_open = [this, host, number = stream.opened](const LinkInfo& info) {
    if (of(host).now.number != number) return;
    of(host).is_remote = info.transport != "local";
    of(host).info = info;
    attach(host);
    hooks_.on_event(connection_event::HostOpened{host, info.address, info.own_address,
                                                 info.likely_own_address});
  };
  stream.now.link =
      ports_.transport.open(address_of(host), {agent_key(task_id_, host)}, std::move(events));
}

// A link that was replaced or closed may still call back; its number tells.
LinkEvents HostStreams::events_of(int host, std::uint64_t number) {
  LinkEvents events;
  events.on_bytes = [this, host, number](std::string_view bytes) {
    if (of(host).now.number == number) received(host, bytes);
  };
  events.on_closed = [this, host, number](const Error& why) { closed(host, number, why); };
  return events;
}

void HostStreams::closed(int host, std::uint64_t number, const Error& why) {
  Stream& stream = of(host);
  const auto leaving = leaving_.find(host);
  if (leaving != leaving_.end() && leaving->second.stream.number == number) {
    if (stream.presence == Presence::idle) stream.presence = Presence::nothing;
    return has_left(host);
  }
  if (stream.next.number == number) {
    drop(stream.next);
    return hooks_.on_event(connection_event::HostNotReopened{host, why});
  }
  if (stream.now.number != number) return;
  stream.is_broken = stream.has_ranks;
  drop(stream.now);
  hooks_.on_event(connection_event::HostClosed{host, why});
}

// Nothing may be sent to the agent before this.
void HostStreams::attach(int host) {
  Stream& stream = of(host);
  stream.decoder = FrameDecoder(FrameSender::agent);
  stream.last_chunk = stream.last_written = stream.last_synced = stream.received_cost = 0;
  message::Attach attach;
  attach.epoch = epoch_;
  attach.launcher = launcher_;
  attach.connection = ++stream.connection;
  int to_repeat = 0;
  for (const auto& [number, trial] : trials_) {
    int most_ranks = -1;
    for (const auto& [attempt, output] : trial.output) {
      if (!output.hosts.is_on(host)) continue;
      most_ranks = std::max(most_ranks, output.end_of_ranks(host) - output.first_rank(host));
      for (int rank = output.first_rank(host); rank < output.end_of_ranks(host); ++rank)
        for (const bool is_of_metrics : {false, true})
          if (const auto at = output.positions[output.place_of(rank, is_of_metrics)]; at > 0)
            attach.positions.push_back({rank, at, {number, attempt}, is_of_metrics});
    }
    if (most_ranks >= 0) to_repeat += most_positions * (2 * most_ranks + most_facts_of_host);
  }
  // The agent repeats its facts about attempts that are over.
  stream.stale_messages = Repetitions();
  stream.stale_messages.expect(to_repeat);
  attach.credit = credit_of(stream);
  stream.now.is_attached = true;
  stream.now.link->send(frame_of(attach));
}

// Output that was received and not kept yet counts against the window, whichever connection it came
// on.
std::uint64_t HostStreams::credit_of(const Stream& stream) const {
  return stream.received_cost + stream.window.room();
}

// The old stream stays until the new one is open, since it may recover until then.
void HostStreams::perform(const host_action::Reopen& action) {
  if (has_left_) return;
  const int host = action.host;
  Stream& stream = of(host);
  stream.was_away = true;
  if (stream.next.link && stream.next.link->is_asking()) return;  // the user is still being asked
  drop(stream.next);                                              // a try that took too long
  stream.next.number = ++stream.opened;
  LinkEvents events = events_of(host, stream.opened);
  events.on_open = [this, host, number = stream.opened](const LinkInfo& info) {
    if (of(host).next.number == number) reopened(host, info);
  };
  stream.next.link = ports_.transport.open(
      address_of(host), {agent_key(task_id_, host), AgentCall::Verb::reattach, reconnect_limit},
      std::move(events));
}

// From now on the old stream is ignored: the agent is told which output has arrived.
void HostStreams::reopened(int host, const LinkInfo& info) {
  Stream& stream = of(host);
  drop(stream.now);
  stream.now = std::exchange(stream.next, {});
  stream.is_broken = false;
  stream.is_remote = info.transport != "local";
  attach(host);
  hooks_.on_event(connection_event::HostReopened{host, info.address, info.own_address,
                                                 info.likely_own_address});
}

void HostStreams::perform(const host_action::Sweep& action) {
  if (has_left_) return;
  const int host = action.host;
  drop_sweep(of(host).sweep);
  of(host).sweep = make_sweep(
      host, sweep_limit, [this, host] { swept(host); }, ends_lost_agents_);
  of(host).sweep->start();
}

std::unique_ptr<SweepDriver> HostStreams::make_sweep(int host, milliseconds limit,
                                                     std::function<void()> on_over,
                                                     bool says_goodbye) {
  std::optional<Goodbye> goodbye;
  if (says_goodbye) goodbye = Goodbye{epoch_, of(host).connection + 1};
  return std::make_unique<SweepDriver>(
      SweepDriver::Ports{ports_.timers, ports_.transport},
      std::vector<AbandonedHost>{{address_of(host), agent_key(task_id_, host)}}, limit,
      std::move(on_over), goodbye);
}

void HostStreams::drop_sweep(std::unique_ptr<SweepDriver>& sweep) {
  if (!sweep) return;
  sweep->forget();
  ended_sweeps_.push_back(std::move(sweep));
  clear_later();
}

void HostStreams::swept(int host) {
  const auto answers = of(host).sweep->answers();
  drop_sweep(of(host).sweep);
  connection_event::HostSwept event{host};
  switch (verdict_of(answers)) {
    case SweepVerdict::clean:
      of(host).is_broken = of(host).has_ranks = false;
      of(host).presence = Presence::nothing;
      break;
    case SweepVerdict::busy:
      event.why = make_error(ErrorClass::host, "an agent of this task still ends its ranks there");
      break;
    case SweepVerdict::unclear:
      event.why = answers.front() ? make_error(ErrorClass::host,
                                               "processes of this task are left "
                                               "there that cannot be killed")
                                  : answers.front().error();
      break;
  }
  hooks_.on_event(event);
}

void HostStreams::send(int host, std::string frame) {
  if (HostLink* const agent = of(host).now.to_agent()) agent->send(std::move(frame));
}

void HostStreams::send_shared(int host, const std::shared_ptr<const std::string>& frame) {
  if (HostLink* const agent = of(host).now.to_agent()) agent->send_shared(frame);
}

void HostStreams::received(int host, std::string_view bytes) {
  FrameDecoder& decoder = of(host).decoder;
  decoder.feed(bytes);
  while (of(host).now.link) {
    auto frame = decoder.next();
    if (!frame) return break_protocol(host, frame.error());
    if (!*frame) break;
    received(host, **frame);
  }
  if (!of(host).received.empty())
    hooks_.on_event(connection_event::HostPrinted{host, std::exchange(of(host).untold_bytes, 0)});
}

void HostStreams::received(int host, const Frame& frame) {
  if (frame.kind == FrameKind::output) return received_output(host, frame.payload);
  if (frame.kind == FrameKind::context)
    return break_protocol(host, not_our_protocol("sent a context"));
  auto message = decode_message(frame.payload);
  if (!message) return break_protocol(host, message.error());
  received_message(host, std::move(*message));
}

void HostStreams::received_message(int host, Message message) {
  if (const auto* displaced = std::get_if<message::Displaced>(&message)) {
    if (displaced->epoch > epoch_) return hooks_.on_displaced(host, *displaced);
    return break_protocol(host, not_our_protocol("speaks of a launcher before this one"));
  }
  const auto about = attempt_of(message);
  if (about && !is_known(*about) && !may_be_strays_)
    return break_protocol(host, not_our_protocol("spoke of an attempt that was never begun"));
  if (about && is_stale(host, *about)) return receive_stale(host, *about, message);
  if (const auto* hello = std::get_if<message::Hello>(&message)) met(host, *hello);
  if (std::holds_alternative<message::NoAgent>(message)) of(host).presence = Presence::nothing;
  if (const auto* finished = std::get_if<message::Finished>(&message)) {
    of(host).finished.insert(finished->of);
    if (of(host).presence == Presence::ranks && finished->survivors.empty())
      of(host).presence = Presence::idle;
  }
  hooks_.on_event(connection_event::HostSaid{host, std::move(message)});
}

// Finished may come late from a host that its trial has given up, or about an attempt that was
// prepared in vain.
void HostStreams::receive_stale(int host, AttemptId of, const Message& message) {
  constexpr std::chrono::seconds span{2};
  if (!this->of(host).stale_messages.add(ports_.timers.now(), span))
    return break_protocol(host, flood_error(span));
  if (!std::holds_alternative<message::Finished>(message)) return;
  if (is_stray(of)) return send(host, frame_of(message::DropLeases{of}));
  end_leases(host, of.trial);
}

// The agent may have missed messages on earlier connections.
void HostStreams::met(int host, const message::Hello& hello) {
  for (const int trial : hello.holding) end_leases(host, trial);
  of(host).to_forget.clear();
  for (const message::AttemptStatus& status : hello.attempts) {
    if (is_stray(status.of)) send(host, frame_of(about(message::Stop{}, status.of)));
    if (is_known(status.of) ? is_over(status.of) : may_be_strays_)
      of(host).to_forget.insert(status.of);
  }
  forget(of(host));
}

bool HostStreams::is_known(AttemptId of) const {
  const auto found = trials_.find(of.trial);
  return found == trials_.end() ? ended_.contains(of.trial) : of.attempt <= found->second.attempt;
}

bool HostStreams::is_over(AttemptId of) const {
  const auto found = trials_.find(of.trial);
  return found == trials_.end() || of.attempt < found->second.attempt;
}

bool HostStreams::is_stale(int host, AttemptId of) const {
  return is_over(of) || this->of(host).finished.contains(of);
}

// The position up to which output of this rank was received; null: the chunk cannot belong to this
// host.
std::uint64_t* HostStreams::position_of(int host, const OutputChunk& chunk) {
  const auto found = trials_.find(chunk.of.trial);
  if (found == trials_.end()) return nullptr;
  const auto output = found->second.output.find(chunk.of.attempt);
  if (output == found->second.output.end()) return nullptr;
  AttemptOutput& of = output->second;
  const bool is_own = of.hosts.is_on(host) && chunk.rank >= of.first_rank(host) &&
                      chunk.rank < of.end_of_ranks(host);
  return is_own ? &of.positions[of.place_of(chunk.rank, chunk.stream == OutputStream::metrics)]
                : nullptr;
}

// Output of a trial that has ended; or of an attempt before the first one here, which was kept by
// another process, and may have been on other hosts.
bool HostStreams::is_passed_over(AttemptId of) const {
  const auto found = trials_.find(of.trial);
  if (found == trials_.end()) return may_be_strays_ || ended_.contains(of.trial);
  const int first = found->second.first_attempt;
  return of.attempt < first && of.attempt >= first - most_positions;
}

// Chunks are numbered without gaps and belong to ranks of their own host; anything else breaks the
// protocol.
void HostStreams::received_output(int host, std::string_view payload) {
  auto chunk = decode_output(payload);
  if (!chunk) return break_protocol(host, chunk.error());
  Stream& stream = of(host);
  const bool passes_over = is_passed_over(chunk->of);
  std::uint64_t* const position = passes_over ? nullptr : position_of(host, *chunk);
  const bool is_expected = passes_over || (position != nullptr && chunk->begin == *position);
  if (!is_expected || chunk->number != stream.last_chunk + 1)
    return break_protocol(host, not_our_protocol("sent output out of turn"));
  if (!stream.window.take(*chunk))
    return break_protocol(host, not_our_protocol("sent more output than it was asked for"));
  stream.last_chunk = chunk->number;
  const std::size_t cost = cost_of(*chunk);
  stream.received_cost += cost;
  stream.untold_bytes += chunk->bytes.size();
  if (passes_over) return pass_over(host, cost);
  *position += length_of(*chunk);
  const TrialStreams& trial = trials_.at(chunk->of.trial);
  const Instant now = ports_.timers.now();
  const nanoseconds age = now - hooks_.time_of(chunk->of, host, chunk->at, now);
  if (chunk->of.attempt == trial.attempt) hooks_.on_output(*chunk);
  const std::uint64_t number = ports_.output.take(std::move(*chunk), age);
  keep(host, number, cost);
}

void HostStreams::keep(int host, std::uint64_t output_number, std::size_t cost) {
  Stream& stream = of(host);
  stream.received.push_back({output_number, stream.connection, stream.last_chunk, cost});
  unwritten_.push_back({output_number, host});
}

// An agent keeps written output for a while, and sends it again to a launcher that reports no
// position for it.
void HostStreams::pass_over(int host, std::size_t cost) {
  Stream& stream = of(host);
  keep(host, stream.received.empty() ? 0 : stream.received.back().output_number, cost);
  acknowledge_output(stream);
}

void HostStreams::break_protocol(int host, const Error& why) {
  hooks_.on_event(connection_event::HostBrokeProtocol{host, why});
}

void HostStreams::acknowledge_output() {
  const std::uint64_t written = ports_.output.written();
  const std::uint64_t synced = ports_.output.synced();
  for (; !unwritten_.empty() && unwritten_.front().output_number <= written;
       unwritten_.pop_front()) {
    note_due(unwritten_.front());
    unsynced_.push_back(unwritten_.front());
  }
  for (; !unsynced_.empty() && unsynced_.front().output_number <= synced; unsynced_.pop_front())
    note_due(unsynced_.front());
  for (const int host : std::exchange(due_, {})) {
    of(host).is_due = false;
    acknowledge_output(of(host));
  }
}

void HostStreams::note_due(const Arrival& arrival) {
  if (!std::exchange(of(arrival.host).is_due, true)) due_.push_back(arrival.host);
}

// Synced chunks are reported together with written ones, so they need no message of their own while
// there is output.
void HostStreams::acknowledge_output(Stream& host) {
  std::size_t cost = 0;
  const std::uint64_t was_synced = host.last_synced;
  for (; !host.received.empty() && host.received.front().output_number <= ports_.output.written();
       host.received.pop_front()) {
    const Received& chunk = host.received.front();
    if (chunk.connection == host.connection) host.last_written = chunk.chunk_number;
    cost += chunk.cost;
    host.written.push_back(chunk);
  }
  for (; !host.written.empty() && host.written.front().output_number <= ports_.output.synced();
       host.written.pop_front())
    if (host.written.front().connection == host.connection)
      host.last_synced = host.written.front().chunk_number;
  host.window.acknowledge(cost);
  if (!host.to_forget.empty()) forget(host);
  HostLink* const agent = host.now.to_agent();
  if (agent == nullptr || (cost == 0 && host.last_synced == was_synced)) return;
  agent->send(frame_of(message::Acknowledge{host.last_written, credit_of(host), host.last_synced}));
}

void HostStreams::perform(const host_action::CloseHost& action) {
  Stream& stream = of(action.host);
  drop(stream.next);
  drop_sweep(stream.sweep);
  if (std::exchange(stream.was_dismissed, false) && stream.now.link)
    await_leaving(action.host);
  else
    drop(stream.now);
}

void HostStreams::await_leaving(int host) {
  Leaving& leaving = leaving_[host];
  drop(leaving);
  leaving.stream = std::exchange(of(host).now, {});
  leaving.patience = ports_.timers.after(leave_limit, [this, host] { leaves_late(host); });
}

// What was sent on a stream that was broken may arrive much later, or never once this process is
// gone: an agent that has not heard would hold its leases for the whole reconnect window.
void HostStreams::leaves_late(int host) {
  if (!of(host).was_away) return has_left(host);
  Leaving& leaving = leaving_.at(host);
  leaving.patience.reset();
  const auto on_over = [this, host] {
    const auto& answers = leaving_.at(host).sweep->answers();
    if (verdict_of(answers) == SweepVerdict::clean) of(host).presence = Presence::nothing;
    has_left(host);
  };
  leaving.sweep = make_sweep(host, late_leave_limit, on_over, true);
  leaving.sweep->start();
}

void HostStreams::has_left(int host) {
  const auto leaving = leaving_.find(host);
  if (leaving == leaving_.end()) return;
  drop(leaving->second);
  leaving_.erase(leaving);
  report_left();
}

void HostStreams::drop(Leaving& leaving) {
  drop(leaving.stream);
  drop_sweep(leaving.sweep);
}

void HostStreams::await_agents(std::function<void()> on_left, std::optional<nanoseconds> patience) {
  on_left_ = std::move(on_left);
  if (patience)
    for (auto& [number, leaving] : leaving_)
      leaving.patience = ports_.timers.after(*patience, [this, host = number] { has_left(host); });
  left_notice_ = ports_.timers.after(nanoseconds(0), [this] {
    left_notice_.reset();
    report_left();
  });
}

void HostStreams::forget_agents() {
  for (auto& [host, leaving] : leaving_) drop(leaving);
  leaving_.clear();
  report_left();
}

void HostStreams::leave() {
  has_left_ = true;
  for (Stream& stream : hosts_) {
    drop(stream.now);
    drop(stream.next);
    drop_sweep(stream.sweep);
  }
  forget_agents();
}

void HostStreams::report_left() {
  if (!leaving_.empty() || !on_left_) return;
  const auto on_left = std::exchange(on_left_, nullptr);
  on_left();
}

void HostStreams::drop(Numbered& link) {
  link.number = 0;
  link.is_attached = false;
  if (!link.link) return;
  closed_links_.push_back(std::move(link.link));
  clear_later();
}

// This may run inside a callback of the link: it is destroyed at the end of the wake-up.
void HostStreams::clear_later() {
  if (closing_) return;
  closing_ = ports_.timers.after(nanoseconds(0), [this] {
    closed_links_.clear();
    ended_sweeps_.clear();
    closing_.reset();
  });
}

void HostStreams::begin_ranks(int host) {
  of(host).has_ranks = true;
  of(host).presence = Presence::ranks;
}

void HostStreams::adopt_ranks(int host) {
  begin_ranks(host);
  of(host).is_broken = true;
}

std::vector<int> HostStreams::unsettled_hosts(bool agents_wait) const {
  std::vector<int> unsettled;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const Presence presence = of(host).presence;
    const bool may_stay = agents_wait && !leaving_.contains(host);
    if (presence == Presence::ranks || (presence == Presence::idle && may_stay))
      unsettled.push_back(host);
  }
  return unsettled;
}

std::vector<int> HostStreams::broken_hosts() const {
  std::vector<int> broken;
  for (std::size_t host = 0; host < hosts_.size(); ++host)
    if (hosts_[host].is_broken) broken.push_back(static_cast<int>(host));
  return broken;
}

}  // namespace train
