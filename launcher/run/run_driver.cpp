// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/run_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/rendezvous/environment.hpp"
#include "launcher/task/task_record.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/output_chunk.hpp"
#include "launcher/wire/rank_commands.hpp"

namespace train {

namespace {

// A host that is not there yet is tried again: when it is back, that is soon known.
constexpr milliseconds reconnect_limit{800};
// A run that is over waits for agents that were dismissed. One that is not told leaves later.
constexpr milliseconds leave_limit{1'000};

Run::Timing timing_of(const ExperimentConfig& experiment) {
  Run::Timing timing;
  timing.reconnect_window = experiment.reconnect_window;
  return timing;
}

}  // namespace

RunDriver::RunDriver(Ports ports, Attempt attempt, Hooks hooks)
    : ports_(std::move(ports)),
      attempt_(std::move(attempt)),
      hooks_(std::move(hooks)),
      trial_(attempt_.plan.trial),
      output_window_(output_window(trial_.hosts.size())),
      run_(trial_, attempt_.port_needs, attempt_.plan.experiment.stop_grace,
           timing_of(attempt_.plan.experiment),
           ports_.open_context ? Run::Delivery::context : Run::Delivery::nothing) {
  for (std::size_t i = 0; i < trial_.hosts.size(); ++i) hosts_.emplace_back(output_window_);
  positions_.resize(trial_.ranks.size());
}

void RunDriver::start() {
  if (ports_.open_context) deliver_context();
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) open_host(host);
}

void RunDriver::stop(int signal) {
  feed(run_event::StopRequested{signal});
  if (!over() || leaving_.empty()) return;
  for (auto& [host, leaving] : leaving_) close_later(std::move(leaving.link));
  leaving_.clear();
  tell_over();
}

void RunDriver::deliver_context() {
  ContextDelivery::Hooks hooks;
  hooks.on_named = [this](const ContextSummary& summary) {
    hooks_.on_context(summary);
    feed(run_event::ContextPacked{});
  };
  hooks.on_failed = [this](const Error& why) { feed(run_event::ContextFailed{why}); };
  hooks.send = [this](int host, const std::shared_ptr<const std::string>& frame) {
    if (const auto& link = hosts_[host].link) link->send_shared(frame);
  };
  hooks.on_progress = hooks_.on_context_progress;
  delivery_.emplace(ports_.timers, ports_.open_context, static_cast<int>(hosts_.size()),
                    std::move(hooks));
}

void RunDriver::open_host(int host) {
  HostStream& stream = hosts_[host];
  stream.link_number = ++stream.opened;
  LinkEvents events = events_of(host, stream.opened);
  events.on_open = [this, host, number = stream.opened](const LinkInfo& info) {
    if (hosts_[host].link_number != number) return;
    hosts_[host].is_remote = info.transport != "local";
    attach(host);
    feed(run_event::HostOpened{host, info.address, info.own_address, info.likely_own_address});
  };
  stream.link = ports_.transport.open(trial_.hosts[host].host, {agent_key(attempt_.task_id, host)},
                                      std::move(events));
}

// A link that was replaced or closed may still have something to tell.
LinkEvents RunDriver::events_of(int host, std::uint64_t number) {
  LinkEvents events;
  events.on_bytes = [this, host, number](std::string_view bytes) {
    if (hosts_[host].link_number == number) received(host, bytes);
  };
  events.on_closed = [this, host, number](const Error& why) { link_closed(host, number, why); };
  return events;
}

void RunDriver::link_closed(int host, std::uint64_t number, const Error& why) {
  HostStream& stream = hosts_[host];
  const auto leaving = leaving_.find(host);
  if (leaving != leaving_.end() && leaving->second.number == number) return has_left(host);
  if (stream.next_number == number) {
    drop_next_link(stream);
    return feed(run_event::HostNotReopened{host, why});
  }
  if (stream.link_number != number) return;
  stream.is_broken = stream.was_told_to_start;
  drop_link(stream);
  feed(run_event::HostClosed{host, why});
}

// Nothing may go to the agent before this.
void RunDriver::attach(int host) {
  HostStream& stream = hosts_[host];
  message::Attach attach;
  attach.connection = ++stream.connection;
  const PlannedHost& planned = trial_.hosts[host];
  for (int rank = planned.first_rank; rank < planned.first_rank + planned.rank_count; ++rank)
    if (positions_[rank] > 0) attach.positions.push_back({rank, positions_[rank]});
  attach.credit = credit_of(stream);
  stream.link->send(frame_of(attach));
}

// What was received and is not kept yet stays within the window, on whichever connection it came.
std::uint64_t RunDriver::credit_of(const HostStream& stream) const {
  return stream.received_cost + stream.window.room();
}

// The old stream stays until the new one is open: until then it may still come back to life.
void RunDriver::perform(const run_action::Reopen& action) {
  const int host = action.host;
  HostStream& stream = hosts_[host];
  drop_next_link(stream);  // a try that has taken too long
  stream.next_number = ++stream.opened;
  LinkEvents events = events_of(host, stream.opened);
  events.on_open = [this, host, number = stream.opened](const LinkInfo&) {
    if (hosts_[host].next_number == number) reopened(host);
  };
  stream.next_link = ports_.transport.open(
      trial_.hosts[host].host,
      {agent_key(attempt_.task_id, host), AgentCall::Verb::reattach, reconnect_limit},
      std::move(events));
}

// From here on nothing of the old stream counts: the agent is told what has come until now.
void RunDriver::reopened(int host) {
  HostStream& stream = hosts_[host];
  drop_link(stream);
  stream.link = std::move(stream.next_link);
  stream.link_number = std::exchange(stream.next_number, 0);
  stream.is_broken = false;
  stream.decoder = FrameDecoder(FrameSender::agent);
  stream.last_chunk = stream.last_kept = stream.received_cost = 0;
  attach(host);
  feed(run_event::HostReopened{host});
}

void RunDriver::perform(const run_action::KeepStream& action) {
  drop_next_link(hosts_[action.host]);
}

void RunDriver::received(int host, std::string_view bytes) {
  FrameDecoder& decoder = hosts_[host].decoder;
  decoder.feed(bytes);
  while (hosts_[host].link) {
    auto frame = decoder.next();
    if (!frame) return host_broke_protocol(host, frame.error());
    if (!*frame) break;
    received(host, **frame);
  }
  if (!hosts_[host].received.empty()) feed(run_event::HostPrinted{host});
}

void RunDriver::received(int host, const Frame& frame) {
  if (frame.kind == FrameKind::output) return received_output(host, frame.payload);
  if (frame.kind == FrameKind::context)
    return host_broke_protocol(host, not_our_protocol("sent a context"));
  auto message = decode_message(frame.payload);
  if (!message) return host_broke_protocol(host, message.error());
  if (std::holds_alternative<message::Finished>(*message)) hosts_[host].has_finished = true;
  feed(run_event::HostSaid{host, std::move(*message)});
}

// Chunks are numbered without gaps and belong to ranks of their own host: anything else is not an
// agent of ours.
void RunDriver::received_output(int host, std::string_view payload) {
  auto chunk = decode_output(payload);
  if (!chunk) return host_broke_protocol(host, chunk.error());
  const auto& ranks = trial_.ranks;
  HostStream& stream = hosts_[host];
  const bool is_own =
      chunk->rank < static_cast<int>(ranks.size()) && ranks[chunk->rank].host == host;
  if (!is_own || chunk->number != stream.last_chunk + 1 || chunk->begin != positions_[chunk->rank])
    return host_broke_protocol(host, not_our_protocol("sent output out of turn"));
  if (!stream.window.take(*chunk))
    return host_broke_protocol(host, not_our_protocol("sent more output than it was asked for"));
  stream.last_chunk = chunk->number;
  positions_[chunk->rank] += chunk->bytes.size();
  const std::size_t cost = cost_of(*chunk);
  stream.received_cost += cost;
  const Instant now = ports_.timers.now();
  const nanoseconds age = now - run_.time_of(host, chunk->at, now);
  const std::uint64_t number = ports_.output.take(std::move(*chunk), age);
  stream.received.push_back({number, stream.connection, stream.last_chunk, cost});
}

void RunDriver::host_broke_protocol(int host, const Error& error) {
  feed(run_event::HostBrokeProtocol{host, error});
}

void RunDriver::acknowledge_output() {
  if (!ports_.output.has_room()) return;  // it says when it has
  for (HostStream& host : hosts_) acknowledge_kept(host);
}

void RunDriver::acknowledge_kept(HostStream& host) {
  std::size_t cost = 0;
  while (!host.received.empty() && host.received.front().output_number <= ports_.output.kept()) {
    const Received& kept = host.received.front();
    if (kept.connection == host.connection) host.last_kept = kept.chunk_number;
    cost += kept.cost;
    host.received.pop_front();
  }
  if (cost == 0) return;
  host.window.acknowledge(cost);
  if (host.link) host.link->send(frame_of(message::Acknowledge{host.last_kept, credit_of(host)}));
}

void RunDriver::feed(const RunEvent& event) {
  for (const RunAction& action : run_.on(event, ports_.timers.now()))
    std::visit([this](const auto& a) { perform(a); }, action);
  arm_timer();
}

// A timer that comes too early stays: made anew with every event, it would never come while a host
// talks all the time.
void RunDriver::arm_timer() {
  const auto deadline = run_.next_deadline();
  if (!deadline) return timer_.reset();
  if (timer_ && timer_at_ <= *deadline) return;
  timer_at_ = *deadline;
  const auto delay = std::max(*deadline - ports_.timers.now(), nanoseconds(0));
  timer_ = ports_.timers.after(delay, [this] {
    timer_.reset();
    feed(run_event::Tick{});
  });
}

message::Prepare RunDriver::prepare_message(int host) const {
  const PlannedHost& planned = trial_.hosts[host];
  const ExperimentConfig& experiment = attempt_.plan.experiment;
  message::Prepare prepare;
  prepare.task_id = attempt_.task_id;
  prepare.hold_ports = held_ports(attempt_.port_needs, trial_, host);
  prepare.files = run_files(experiment);
  prepare.stop_grace = experiment.stop_grace;
  prepare.reconnect_window = experiment.reconnect_window;
  if (hosts_[host].is_remote) prepare.output_packing = OutputPacking::lz4;
  if (delivery_) prepare.context = delivery_->context();
  if (hosts_.size() > 1) prepare.interface = planned.host.interface;
  for (int rank = planned.first_rank; rank < planned.first_rank + planned.rank_count; ++rank)
    prepare.ranks.push_back(
        {rank, experiment.entrypoint, attempt_.working_directory, attempt_.environment_of(rank)});
  return prepare;
}

void RunDriver::perform(const run_action::SendPrepare& action) {
  const message::Prepare prepare = prepare_message(action.host);
  const std::size_t ranks = prepare.ranks.size();
  std::size_t bytes = 0;
  for (const RankCommand& command : prepare.ranks) bytes += size_of(command);
  const std::string payload = encode_message(prepare);
  const bool is_too_large = bytes > most_rank_bytes;
  if (is_too_large || payload.size() > max_control_payload)
    return refuse_prepare(
        action.host,
        fmt::format(
            "the arguments and environments of its {} ranks are {} MiB; a host takes {} MiB", ranks,
            (is_too_large ? bytes : payload.size()) >> 20,
            (is_too_large ? most_rank_bytes : max_control_payload) >> 20),
        "pass large data in a file");
  if (prepare.hold_ports > most_held_ports)
    return refuse_prepare(action.host,
                          fmt::format("its {} ranks need {} ports; a host holds {}", ranks,
                                      prepare.hold_ports, most_held_ports),
                          "use more hosts");
  if (const auto& link = hosts_[action.host].link)
    link->send(encode_frame(FrameKind::control, payload));
}

// Run is not entered while it waits for its actions to be carried out: this comes as an event.
void RunDriver::refuse_prepare(int host, std::string what, std::string hint) {
  const Error why = make_error(ErrorClass::config, std::move(what), std::move(hint));
  ports_.timers.post([this, host, why] { feed(run_event::HostClosed{host, why}); });
}

void RunDriver::perform(const run_action::Send& action) {
  HostStream& stream = hosts_[action.host];
  if (!stream.link) return;
  stream.link->send(frame_of(action.message));
}

void RunDriver::perform(const run_action::SendContext& action) {
  if (delivery_ && delivery_->wanted(action.host, action.taken)) return;
  ports_.timers.post([this, host = action.host] {
    host_broke_protocol(host, not_our_protocol("took more of the context than it was sent"));
  });
}

void RunDriver::perform(const run_action::SendGo& action) {
  delivery_.reset();  // every host has what it needs
  hosts_[action.host].was_told_to_start = true;
  if (start_frame_.empty()) start_frame_ = frame_of(run_.start_message());
  if (const auto& link = hosts_[action.host].link) link->send(start_frame_);
}

void RunDriver::perform(const run_action::CloseHost& action) {
  if (delivery_) delivery_->forget(action.host);
  HostStream& stream = hosts_[action.host];
  drop_next_link(stream);
  if (stream.link && stream.has_finished)
    await_leaving(action.host);
  else
    drop_link(stream);
}

void RunDriver::await_leaving(int host) {
  HostStream& stream = hosts_[host];
  Leaving& leaving = leaving_[host];
  leaving.link = std::move(stream.link);
  leaving.number = std::exchange(stream.link_number, 0);
  leaving.patience = ports_.timers.after(leave_limit, [this, host] { has_left(host); });
}

void RunDriver::has_left(int host) {
  const auto leaving = leaving_.find(host);
  if (leaving == leaving_.end()) return;
  close_later(std::move(leaving->second.link));
  leaving_.erase(leaving);
  if (over()) tell_over();
}

void RunDriver::tell_over() {
  if (leaving_.empty()) hooks_.on_over();
}

void RunDriver::drop_link(HostStream& stream) {
  stream.link_number = 0;
  close_later(std::exchange(stream.link, nullptr));
}

void RunDriver::drop_next_link(HostStream& stream) {
  stream.next_number = 0;
  close_later(std::exchange(stream.next_link, nullptr));
}

// We may be inside a callback of this very link: it goes at the end of the wake-up.
void RunDriver::close_later(std::unique_ptr<HostLink> link) {
  if (!link) return;
  closed_links_.push_back(std::move(link));
  if (closing_) return;
  closing_ = ports_.timers.after(nanoseconds(0), [this] {
    closed_links_.clear();
    closing_.reset();
  });
}

void RunDriver::perform(const run_action::AllStarted&) { hooks_.on_all_started(); }

void RunDriver::perform(const run_action::Note& action) { hooks_.on_note(action.text); }

void RunDriver::perform(const run_action::Stopping& action) {
  ports_.output.expect_end();
  hooks_.on_stopping(action.why);
}

void RunDriver::perform(const run_action::Over&) { tell_over(); }

std::vector<int> RunDriver::broken_hosts() const {
  std::vector<int> broken;
  for (std::size_t host = 0; host < hosts_.size(); ++host)
    if (hosts_[host].is_broken) broken.push_back(static_cast<int>(host));
  return broken;
}

}  // namespace train
