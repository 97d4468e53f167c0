// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_session.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>

#include "cli/talk.hpp"
#include "launcher/rendezvous/environment.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/rank_commands.hpp"

namespace train {

namespace {

std::int64_t now_in_microseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000;
}

}  // namespace

LaunchSession::LaunchSession(Loop& loop, const Surroundings& surroundings, const Request& request,
                             const Plan& plan, std::string task_id, Hooks hooks)
    : loop_(loop),
      transport_(surroundings.transport),
      output_(surroundings.output),
      terminal_(surroundings.terminal),
      logs_(surroundings.logs),
      signals_(surroundings.signals),
      plan_(plan),
      task_id_(std::move(task_id)),
      hooks_(std::move(hooks)),
      ports_(port_needs(plan)),
      output_window_(output_window(plan.trial.hosts.size())),
      context_directory_(request.context_directory),
      run_(plan.trial, ports_, plan.experiment.stop_grace, {},
           context_directory_.empty() ? Run::Delivery::nothing : Run::Delivery::context) {
  for (std::size_t i = 0; i < plan.trial.hosts.size(); ++i) hosts_.emplace_back(output_window_);
}

LaunchSession::~LaunchSession() = default;

const RunOutcome& LaunchSession::run() {
  signals_.deliver(loop_, [this](int number) { feed(run_event::StopRequested{number}); });
  if (!context_directory_.empty()) deliver_context();
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) open_host(host);
  if (!run_.over()) loop_.run();
  logs_.finish();
  output_.end();
  return run_.outcome();
}

void LaunchSession::deliver_context() {
  ContextDelivery::Hooks hooks;
  hooks.on_named = [this](const ContextSummary& summary) {
    hooks_.on_context(summary);
    feed(run_event::ContextPacked{});
  };
  hooks.on_failed = [this](const Error& why) { feed(run_event::ContextFailed{why}); };
  hooks.send = [this](int host, const std::shared_ptr<const std::string>& frame) {
    if (const auto& link = hosts_[host].link) link->send_shared(frame);
  };
  // Of use to somebody who waits; a log would only be longer.
  hooks.say = [this](const std::string& line) {
    if (::isatty(STDERR_FILENO) == 1)
      terminal_.write(Terminal::Stream::err, talk_text(TerminalText(line)));
  };
  delivery_.emplace(loop_, context_directory_, static_cast<int>(hosts_.size()), std::move(hooks));
}

void LaunchSession::open_host(int host) {
  LinkEvents events;
  events.on_open = [this, host](const LinkInfo& info) {
    hosts_[host].is_remote = info.transport != "local";
    feed(run_event::HostOpened{host, info.address, info.own_address, info.likely_own_address});
  };
  events.on_bytes = [this, host](std::string_view bytes) { received(host, bytes); };
  events.on_closed = [this, host](const Error& why) {
    // Not when we have closed it ourselves, and the agent was faster than we.
    hosts_[host].is_broken = hosts_[host].was_told_to_start && hosts_[host].link;
    feed(run_event::HostClosed{host, why});
  };
  hosts_[host].link =
      transport_.open(plan_.trial.hosts[host].host, {agent_key(task_id_, host)}, std::move(events));
}

void LaunchSession::received(int host, std::string_view bytes) {
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

void LaunchSession::received(int host, const Frame& frame) {
  if (frame.kind == FrameKind::output) return received_output(host, frame.payload);
  if (frame.kind == FrameKind::context)
    return host_broke_protocol(host, not_our_protocol("sent a context"));
  auto message = decode_message(frame.payload);
  if (!message) return host_broke_protocol(host, message.error());
  feed(run_event::HostSaid{host, std::move(*message)});
}

// Chunks are numbered without gaps and belong to ranks of their own host: anything else is not an
// agent of ours.
void LaunchSession::received_output(int host, std::string_view payload) {
  auto chunk = decode_output(payload);
  if (!chunk) return host_broke_protocol(host, chunk.error());
  const auto& ranks = plan_.trial.ranks;
  const bool is_own =
      chunk->rank < static_cast<int>(ranks.size()) && ranks[chunk->rank].host == host;
  if (!is_own || chunk->number != hosts_[host].last_chunk + 1)
    return host_broke_protocol(host, not_our_protocol("sent output out of turn"));
  if (!hosts_[host].window.take(*chunk))
    return host_broke_protocol(host, not_our_protocol("sent more output than it was asked for"));
  hosts_[host].last_chunk = chunk->number;
  output_.add(*chunk);
  const std::size_t cost = cost_of(*chunk);
  const Instant now = loop_.now();
  const auto age = std::chrono::duration_cast<std::chrono::microseconds>(
      now - run_.time_of(host, chunk->at, now));
  const std::uint64_t log_number = logs_.write(
      {chunk->rank, chunk->stream, now_in_microseconds() - age.count(), std::move(chunk->bytes)});
  hosts_[host].received.push_back({log_number, chunk->number, cost});
}

void LaunchSession::host_broke_protocol(int host, const Error& error) {
  feed(run_event::HostClosed{host, error});
}

void LaunchSession::feed(const RunEvent& event) {
  for (const RunAction& action : run_.on(event, loop_.now())) carry_out(action);
  arm_timer();
}

void LaunchSession::carry_out(const RunAction& action) {
  std::visit([this](const auto& a) { perform(a); }, action);
}

// Relative to the context where there is one, else absolute.
std::string LaunchSession::working_directory() const {
  if (!context_directory_.empty()) return directory_in_context(plan_.experiment.working_directory);
  std::error_code ignored;
  const auto here = std::filesystem::current_path(ignored);
  const std::string& wanted = plan_.experiment.working_directory;
  return wanted.empty() ? here.string() : (here / wanted).lexically_normal().string();
}

void LaunchSession::perform(const run_action::SendPrepare& action) {
  message::Prepare prepare;
  prepare.task_id = task_id_;
  prepare.hold_ports = held_ports(ports_, plan_.trial, action.host);
  prepare.files = run_files(plan_.experiment);
  prepare.stop_grace = plan_.experiment.stop_grace;
  prepare.output_window = output_window_;
  if (hosts_[action.host].is_remote) prepare.output_packing = OutputPacking::lz4;
  if (delivery_) prepare.context = delivery_->context();
  const PlannedHost& host = plan_.trial.hosts[action.host];
  if (hosts_.size() > 1) prepare.interface = host.host.interface;
  for (int rank = host.first_rank; rank < host.first_rank + host.rank_count; ++rank)
    prepare.ranks.push_back(
        {rank, plan_.experiment.entrypoint, working_directory(), environment_of(plan_, rank)});
  std::size_t bytes = 0;
  for (const RankCommand& command : prepare.ranks) bytes += size_of(command);
  const std::string payload = encode_message(prepare);
  const bool is_too_large = bytes > most_rank_bytes;
  if (is_too_large || payload.size() > max_control_payload)
    return refuse_prepare(
        action.host,
        fmt::format(
            "the arguments and environments of its {} ranks are {} MiB; a host takes {} MiB",
            host.rank_count, (is_too_large ? bytes : payload.size()) >> 20,
            (is_too_large ? most_rank_bytes : max_control_payload) >> 20),
        "pass large data in a file");
  if (prepare.hold_ports > most_held_ports)
    return refuse_prepare(action.host,
                          fmt::format("its {} ranks need {} ports; a host holds {}",
                                      host.rank_count, prepare.hold_ports, most_held_ports),
                          "use more hosts");
  if (const auto& link = hosts_[action.host].link)
    link->send(encode_frame(FrameKind::control, payload));
}

// Run is not entered while it waits for its actions to be carried out: this comes as an event.
void LaunchSession::refuse_prepare(int host, std::string what, std::string hint) {
  const Error why = make_error(ErrorClass::config, std::move(what), std::move(hint));
  loop_.post([this, host, why] { feed(run_event::HostClosed{host, why}); });
}

void LaunchSession::perform(const run_action::Send& action) {
  if (const auto& link = hosts_[action.host].link) link->send(frame_of(action.message));
}

void LaunchSession::perform(const run_action::SendContext& action) {
  if (delivery_ && delivery_->wanted(action.host, action.taken)) return;
  loop_.post([this, host = action.host] {
    host_broke_protocol(host, not_our_protocol("took more of the context than it was sent"));
  });
}

void LaunchSession::perform(const run_action::SendGo& action) {
  delivery_.reset();  // every host has what it needs
  hosts_[action.host].was_told_to_start = true;
  if (start_frame_.empty()) start_frame_ = frame_of(run_.start_message());
  if (const auto& link = hosts_[action.host].link) link->send(start_frame_);
}

void LaunchSession::perform(const run_action::CloseHost& action) {
  if (delivery_) delivery_->forget(action.host);
  // We may be inside a callback of this very link: it goes at the end of the wake-up. What was sent
  // to it last (a Bye) is on its way by then.
  closed_links_.push_back(std::exchange(hosts_[action.host].link, nullptr));
  loop_.post([this] { closed_links_.clear(); });
}

void LaunchSession::perform(const run_action::AllStarted&) { hooks_.on_all_started(); }

void LaunchSession::perform(const run_action::Note& action) { hooks_.on_note(action.text); }

void LaunchSession::perform(const run_action::Stopping& action) {
  logs_.expect_end();
  hooks_.on_stopping(action.why);
}

void LaunchSession::perform(const run_action::Over&) { loop_.stop(); }

void LaunchSession::acknowledge_output() {
  if (terminal_.full()) return;  // it says when it has room
  for (HostStream& host : hosts_) acknowledge_written(host);
}

std::vector<int> LaunchSession::broken_hosts() const {
  std::vector<int> broken;
  for (std::size_t host = 0; host < hosts_.size(); ++host)
    if (hosts_[host].is_broken) broken.push_back(static_cast<int>(host));
  return broken;
}

void LaunchSession::acknowledge_written(HostStream& host) {
  std::uint64_t last = 0;
  std::size_t cost = 0;
  while (!host.received.empty() && host.received.front().log_number <= logs_.written()) {
    last = host.received.front().chunk_number;
    cost += host.received.front().cost;
    host.received.pop_front();
  }
  if (last == 0) return;
  host.window.acknowledge(cost);
  if (host.link) host.link->send(frame_of(message::Acknowledge{last}));
}

void LaunchSession::arm_timer() {
  const auto deadline = run_.next_deadline();
  timer_.reset();
  if (!deadline) return;
  const auto delay = std::max(*deadline - loop_.now(), nanoseconds(0));
  timer_ = loop_.after(delay, [this] { feed(run_event::Tick{}); });
}

}  // namespace train
