// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/simulation/fake_launcher.hpp"

#include "tests/launcher/simulation/fake_host.hpp"

namespace train::simulation {

FakeLauncher::FakeLauncher(VirtualTime& time, const Scenario& scenario, const Trial& trial,
                           std::vector<std::string>& complaints)
    : time_(time),
      scenario_(scenario),
      trial_(trial),
      complaints_(complaints),
      run_(trial, scenario.ports, scenario.grace, {},
           scenario.has_context ? Run::Delivery::context : Run::Delivery::nothing),
      links_(trial.hosts.size()),
      received_(trial.ranks.size()) {}

void FakeLauncher::connected(int host, OneWay& to_host, OneWay& from_host) {
  Link& link = links_[static_cast<std::size_t>(host)];
  link.to_host = &to_host;
  link.from_host = &from_host;
  feed(run_event::HostOpened{host, address_of(host)});
}

void FakeLauncher::unreachable(int host) {
  feed(run_event::HostClosed{host, make_error(ErrorClass::host, "connection refused")});
}

void FakeLauncher::link_closed(int host) {
  if (expects(host))
    feed(run_event::HostClosed{host, make_error(ErrorClass::host, "connection reset")});
}

void FakeLauncher::interrupt() { feed(run_event::StopRequested{2}); }

void FakeLauncher::context_done() {
  if (scenario_.context_packed)
    feed(run_event::ContextPacked{});
  else
    feed(run_event::ContextFailed{make_error(ErrorClass::no_input, "cannot read it")});
}

void FakeLauncher::die(bool silently) {
  if (run_.over()) return;
  dead_ = true;
  for (Link& link : links_) {
    if (link.closed || link.to_host == nullptr) continue;
    link.from_host->forget();
    if (!silently) link.to_host->close();
  }
}

void FakeLauncher::feed(const RunEvent& event) {
  if (dead_) return;
  for (const RunAction& action : run_.on(event, time_.now()))
    std::visit([this](const auto& a) { perform(a); }, action);
  arm_timer();
}

void FakeLauncher::arm_timer() {
  const auto deadline = run_.next_deadline();
  if (!deadline || (armed_ && *armed_ <= *deadline)) return;
  armed_ = deadline;
  time_.at(*deadline, [this, deadline] {
    if (armed_ != deadline) return;
    armed_.reset();
    feed(run_event::Tick{});
  });
}

void FakeLauncher::receive(int host, std::string_view bytes) {
  Link& link = links_[static_cast<std::size_t>(host)];
  if (dead_ || link.closed) return;
  link.decoder.feed(bytes);
  while (!link.closed) {
    const auto frame = link.decoder.next();
    if (!frame) return complaints_.push_back("the launcher could not read a frame");
    if (!*frame) return;
    if ((*frame)->kind == FrameKind::output) {
      receive_output(host, (*frame)->payload);
      continue;
    }
    auto message = decode_message((*frame)->payload);
    if (!message) return complaints_.push_back("the launcher could not read a message");
    feed(run_event::HostSaid{host, std::move(*message)});
  }
}

void FakeLauncher::receive_output(int host, std::string_view payload) {
  Link& link = links_[static_cast<std::size_t>(host)];
  const auto chunk = decode_output(payload);
  if (!chunk) return complaints_.push_back("the launcher could not read output");
  if (chunk->number != ++link.last_chunk) complaints_.push_back("output came out of turn");
  if (trial_.ranks[static_cast<std::size_t>(chunk->rank)].host != host)
    return complaints_.push_back("output of another host's rank");
  const std::size_t stream = chunk->stream == OutputStream::out ? 0 : 1;
  auto& place = received_[static_cast<std::size_t>(chunk->rank)][stream];
  for (const char byte : chunk->bytes)
    if (byte != printed_byte(chunk->rank, stream, place++)) {
      complaints_.push_back("output is not what was printed");
      break;
    }
  feed(run_event::HostPrinted{host});
  time_.at(time_.now() + scenario_.write_delay, [this, host, number = chunk->number] {
    if (!dead_ && expects(host)) send(host, message::Acknowledge{number});
  });
}

void FakeLauncher::send(int host, const Message& message) {
  const Link& link = links_[static_cast<std::size_t>(host)];
  if (link.to_host != nullptr) link.to_host->send(frame_of(message));
}

void FakeLauncher::perform(const run_action::SendPrepare& action) {
  const PlannedHost& host = trial_.hosts[static_cast<std::size_t>(action.host)];
  message::Prepare prepare{
      "taskid", {}, held_ports(scenario_.ports, trial_, action.host), {}, scenario_.grace};
  if (scenario_.has_context) prepare.context = {std::string(64, 'a'), scenario_.context_size};
  for (int rank = host.first_rank; rank < host.first_rank + host.rank_count; ++rank)
    prepare.ranks.push_back({rank,
                             {"true", {}},
                             scenario_.has_context ? "sub" : "/",
                             {{"MASTER_PORT", "", AtLaunch::rendezvous_port},
                              {"MEGASCALE_PORT", "", AtLaunch::megascale_port},
                              {"TF_CONFIG", "", AtLaunch::tensorflow_cluster}}});
  send(action.host, prepare);
}

void FakeLauncher::perform(const run_action::SendContext& action) {
  Link& link = links_[static_cast<std::size_t>(action.host)];
  std::uint64_t& sent = link.context_sent ? *link.context_sent : link.context_sent.emplace(0);
  while (!link.context_ended && sent < action.taken + context_window) {
    const std::uint64_t size =
        std::min<std::uint64_t>(context_piece_size, scenario_.context_size - sent);
    link.to_host->send(encode_frame(
        FrameKind::context,
        std::string(static_cast<std::size_t>(size), static_cast<char>(sent / context_piece_size))));
    sent += size;
    link.context_ended = size < context_piece_size;
  }
}

void FakeLauncher::perform(const run_action::SendGo& action) {
  send(action.host, run_.start_message());
}

void FakeLauncher::perform(const run_action::CloseHost& action) {
  Link& link = links_[static_cast<std::size_t>(action.host)];
  if (link.closed) complaints_.push_back("a host was closed twice");
  link.closed = true;
  if (link.to_host == nullptr) return;
  link.to_host->close();
  link.from_host->forget();
}

}  // namespace train::simulation
