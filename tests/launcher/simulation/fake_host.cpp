// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/simulation/fake_host.hpp"

#include <algorithm>

#include "launcher/rendezvous/frameworks.hpp"

namespace train::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t pipe_size = 64u << 10;
constexpr nanoseconds kill_limit = 10s;
constexpr nanoseconds first_attach_limit = 30s;  // as in the agent's process

}  // namespace

FakeHost::FakeHost(VirtualTime& time, Chance& chance, const Scenario& scenario, int index,
                   int first_rank, Readiness& readiness, std::vector<std::string>& complaints)
    : time_(time),
      chance_(chance),
      scenario_(scenario),
      index_(index),
      script_(scenario.hosts[static_cast<std::size_t>(index)]),
      first_rank_(first_rank),
      readiness_(readiness),
      complaints_(complaints),
      agent_({"h" + std::to_string(index), "boot", 1}, scenario.output_capacity) {}

LinkId FakeHost::connect(OneWay& to_launcher) {
  const bool is_first = !was_connected();
  links_[++last_link_].to_launcher = &to_launcher;
  if (is_first) {
    meet_troubles();
    later(first_attach_limit, [this] {
      if (used_ == 0) perform(agent_action::Leave{});
    });
  }
  return last_link_;
}

// Those that an agent tells of by itself.
void FakeHost::meet_troubles() {
  if (script_.fault == HostFault::agent_failure)
    later(script_.fault_at, [this] {
      note_stop();
      feed(agent_event::Failed{"out of memory"});
    });
  if (script_.fault == HostFault::agent_killed) later(script_.fault_at, [this] { die(); });
  if (script_.port_taken_at)
    later(*script_.port_taken_at, [this] {
      if (!readiness_.ports[index_].empty())
        feed(agent_event::PortTaken{readiness_.ports[index_].front(), 65'534});
    });
}

void FakeHost::blocked_for(nanoseconds time) {
  for (milliseconds so_far = 2s; so_far < time; so_far += 2s)
    later(so_far, [this, so_far] { feed(agent_event::Blocked{"stat of '/nfs'", so_far}); });
}

bool FakeHost::reachable() const {
  return !script_.has_fault(HostFault::crash, time_.now()) &&
         !script_.has_fault(HostFault::freeze, time_.now()) &&
         !script_.has_fault(HostFault::partition, time_.now()) && !script_.unreachable;
}

bool FakeHost::dead() const {
  const bool has_crashed = script_.fault == HostFault::crash && time_.now() >= script_.fault_at;
  return has_crashed || (frozen() && !script_.fault_for);
}

int FakeHost::alive() const {
  int alive = 0;
  for (const auto& [rank, process] : processes_)
    alive += (process.alive && !process.stuck) + process.orphan_alive;
  return alive;
}

bool FakeHost::has_stuck() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const auto& entry) { return entry.second.stuck; });
}

void FakeHost::later(nanoseconds delay, std::function<void()> what) {
  time_.at(time_.now() + delay, [this, what = std::move(what)] { when_awake(what); });
}

// A crashed host does nothing any more, a frozen one does it when it thaws.
void FakeHost::when_awake(std::function<void()> what) {
  if (dead()) return;
  if (frozen())
    time_.at(script_.fault_at + *script_.fault_for, std::move(what));
  else
    what();
}

void FakeHost::receive(LinkId link, std::string_view bytes) {
  when_awake([this, link, bytes = std::string(bytes)] { heard(link, bytes); });
}

void FakeHost::heard(LinkId link, std::string_view bytes) {
  if (const auto found = links_.find(link); found != links_.end())
    found->second.decoder.feed(bytes);
  while (!gone_at_) {
    const auto found = links_.find(link);
    if (found == links_.end()) return;
    const auto frame = found->second.decoder.next();
    if (!frame) return complaints_.push_back("an agent could not read a frame");
    if (!*frame) return;
    heard(link, **frame);
  }
}

void FakeHost::heard(LinkId link, const Frame& frame) {
  if (frame.kind == FrameKind::context)
    return feed(agent_event::ContextReceived{link, std::string(frame.payload)});
  auto message = decode_message(frame.payload);
  if (!message) return complaints_.push_back("an agent could not read a message");
  if (std::holds_alternative<message::Stop>(*message)) note_stop();
  feed(agent_event::Received{link, std::move(*message)});
}

void FakeHost::note_stop() {
  if (!stop_heard_at_) stop_heard_at_ = time_.now();
}

void FakeHost::link_closed(LinkId link) {
  when_awake([this, link] {
    if (links_.erase(link) > 0) feed(agent_event::LinkDown{link});
  });
}

// The guard sees to what the agent has left.
void FakeHost::die() {
  if (gone_at_) return;
  gone_at_ = time_.now();
  for (auto& [rank, process] : processes_) {
    process.orphan_alive = false;
    process.stuck = process.alive && process.script->survives_kill;
    if (process.alive && !process.stuck) end(rank, std::nullopt, 9);
  }
  for (auto& [id, link] : links_) link.to_launcher->close();
  links_.clear();
}

void FakeHost::feed(const AgentEvent& event) {
  if (gone_at_) return;
  for (const AgentAction& action : agent_.on(event, clock()))
    std::visit([this](const auto& a) { perform(a); }, action);
  arm_timer();
}

void FakeHost::arm_timer() {
  const auto deadline = agent_.next_deadline();
  if (!deadline || (armed_ && *armed_ <= *deadline)) return;
  armed_ = deadline;
  later(std::max(*deadline - clock(), nanoseconds(0)), [this, deadline] {
    if (armed_ != deadline) return;
    armed_.reset();
    feed(agent_event::Tick{});
  });
}

void FakeHost::send(std::string bytes) {
  if (const auto link = links_.find(used_); link != links_.end())
    link->second.to_launcher->send(std::move(bytes));
}

void FakeHost::perform(const agent_action::CloseLink& action) {
  const auto link = links_.find(action.link);
  if (link == links_.end()) return;
  link->second.to_launcher->close();
  links_.erase(link);
}

void FakeHost::perform(const agent_action::SendMessage& action) {
  if (std::holds_alternative<message::Ready>(action.message) &&
      !std::exchange(has_said_ready_, true))
    ++readiness_.ready;
  send(frame_of(action.message));
}

void FakeHost::perform(const agent_action::SendOutput& action) {
  send(encode_frame(FrameKind::output, encode_output(*action.chunk, action.packing)));
}

void FakeHost::perform(const agent_action::FindContext& action) {
  if (action.context.size != scenario_.context_size) complaints_.push_back("another context");
  later(script_.check_delay, [this] {
    if (script_.context_fails)
      feed(agent_event::ContextFailed{make_error(ErrorClass::host, "no room")});
    else if (script_.lacks_context)
      feed(agent_event::ContextTaken{0});
    else
      feed(agent_event::ContextReady{"/copy"});
  });
}

void FakeHost::perform(const agent_action::TakeContext& action) {
  const std::string& bytes = action.bytes;
  if (bytes.find_first_not_of(static_cast<char>(context_taken_ / context_piece_size)) != bytes.npos)
    complaints_.push_back("a piece of the context came out of turn");
  context_taken_ += bytes.size();
  if (bytes.size() == context_piece_size)
    return later(1us, [this, taken = context_taken_] { feed(agent_event::ContextTaken{taken}); });
  if (context_taken_ != scenario_.context_size) complaints_.push_back("the context is not whole");
  later(script_.check_delay, [this] { feed(agent_event::ContextReady{"/copy"}); });
}

void FakeHost::perform(const agent_action::CheckHost& action) {
  agent_event::HostChecked checked;
  if (script_.refuses) checked.problems = {{{}, {}, "no 'python3'", {}}};
  int ports = action.prepare.hold_ports;
  if (script_.miscounts_ports) ports += ports > 0 && chance_.one_in(2) ? -1 : 1;
  while (static_cast<int>(checked.held_ports.size()) < ports)
    checked.held_ports.push_back(20'000 + static_cast<int>(chance_.below(100)) * 100 +
                                 static_cast<int>(checked.held_ports.size()));
  readiness_.ports[index_] = checked.held_ports;
  checked.run_directory = "/run";
  blocked_for(script_.check_delay);
  later(script_.check_delay, [this, checked] { feed(checked); });
}

void FakeHost::perform(const agent_action::StartRank& action) {
  const int rank = action.rank;
  if (processes_.contains(rank)) complaints_.push_back("a rank was started twice");
  if (processes_.empty()) check_command(rank);  // one rank of each host will do
  if (readiness_.ready < readiness_.hosts)
    complaints_.push_back("a rank was started before every host was ready");
  const RankScript& script = script_.ranks[static_cast<std::size_t>(rank - first_rank_)];
  FakeProcess& process = processes_[rank];
  process.script = &script;
  blocked_for(script_.start_delay);
  if (!script.can_start) {
    process.reported = true;
    return later(script_.start_delay, [this, rank] {
      feed(agent_event::RankNotStarted{rank, "exec: no such file"});
    });
  }
  process.alive = true;
  process.orphan_alive = script.leaves_orphan;
  process.prints_left = script.prints;
  later(script_.start_delay, [this, rank] {
    processes_[rank].announced = true;
    feed(agent_event::RankStarted{rank, 100 + rank});
    plan_read(rank);
    report_end(rank);
  });
  live(rank);
}

// Ranks start in the copy of the context. Every rank is told the same ports: those that their hosts
// hold, in the order in which they are asked for.
void FakeHost::check_command(int rank) {
  int rendezvous = 0;
  int megascale = 0;
  std::vector<std::string> workers;
  for (const auto& [host, held] : readiness_.ports) {
    auto port = held.begin();
    if (scenario_.ports.rendezvous && host == 0) rendezvous = *port++;
    if (scenario_.ports.megascale_host == host) megascale = *port++;
    const std::string address = readiness_.hosts == 1 ? "127.0.0.1" : address_of(host);
    for (; port != held.end(); ++port) workers.push_back(address + ":" + std::to_string(*port));
  }
  const std::vector<EnvironmentEntry> expected{{"MASTER_PORT", std::to_string(rendezvous)},
                                               {"MEGASCALE_PORT", std::to_string(megascale)},
                                               {"TF_CONFIG", tensorflow_config(workers, rank)}};
  const RankCommand command = agent_.command_of(rank);
  if (command.working_directory != (scenario_.has_context ? "/copy/sub" : "/"))
    complaints_.push_back("a rank was started in another directory");
  if (command.environment != expected)
    complaints_.push_back("a rank was told other ports than those that are held");
}

// The next stretch of a rank's life: it ends with a print, or with its end.
void FakeHost::live(int rank) {
  const RankScript& script = *processes_[rank].script;
  later(script.lifetime / (script.prints + 1), [this, rank] {
    FakeProcess& process = processes_[rank];
    if (!process.alive || process.stuck) return;
    if (process.in_pipes() >= pipe_size) {
      process.blocked = true;
      return;
    }
    if (process.prints_left == 0) {
      process.ended_by_itself = true;
      const auto& s = *process.script;
      return end(rank, s.signal ? std::nullopt : std::optional(s.code), s.signal);
    }
    const std::size_t stream = static_cast<std::size_t>(process.prints_left-- % 2);
    process.printed[stream] += static_cast<std::uint64_t>(process.script->print_bytes);
    plan_read(rank);
    live(rank);
  });
}

void FakeHost::end(int rank, std::optional<int> code, std::optional<int> signal) {
  FakeProcess& process = processes_[rank];
  process.alive = false;
  process.died = time_.now();
  process.code = code;
  process.signal = signal;
  later(chance_.up_to(1ms), [this, rank] { report_end(rank); });
}

void FakeHost::plan_read(int rank) {
  FakeProcess& process = processes_[rank];
  const bool wanted = process.announced && process.in_pipes() > 0 && !paused_;
  if (!wanted || std::exchange(process.read_planned, true)) return;
  later(chance_.up_to(1ms), [this, rank] { read(rank); });
}

void FakeHost::read(int rank) {
  FakeProcess& process = processes_[rank];
  process.read_planned = false;
  if (paused_ || gone_at_) return;
  const std::size_t stream = process.printed[0] > process.read[0] ? 0 : 1;
  const std::uint64_t size = std::min(process.printed[stream] - process.read[stream], pipe_size);
  std::string bytes;
  for (std::uint64_t i = 0; i < size; ++i)
    bytes += printed_byte(rank, stream, process.read[stream] + i);
  process.read[stream] += size;
  if (std::exchange(process.blocked, false)) live(rank);
  feed(agent_event::RankPrinted{rank, stream == 0 ? OutputStream::out : OutputStream::err, bytes});
  plan_read(rank);
  report_end(rank);
}

void FakeHost::report_end(int rank) {
  FakeProcess& process = processes_[rank];
  const bool over = process.announced && !process.alive && process.in_pipes() == 0;
  if (!over || std::exchange(process.reported, true)) return;
  feed(agent_event::RankEnded{
      rank, process.code, process.signal, false, process.died + script_.clock_ahead, {}});
  tree_killed_if_so();
}

void FakeHost::perform(const agent_action::TerminateRank& action) {
  note_stop();
  const int rank = action.rank;
  const RankScript& script = *processes_[rank].script;
  if (script.ignores_term) return;
  later(script.term_delay, [this, rank] {
    const FakeProcess& process = processes_[rank];
    if (!process.alive || process.stuck) return;
    if (process.script->ends_well_on_term)
      end(rank, 0, std::nullopt);
    else
      end(rank, std::nullopt, 15);
  });
}

void FakeHost::perform(const agent_action::KillTree&) {
  note_stop();
  killing_ = true;
  for (auto& [rank, process] : processes_) {
    process.orphan_alive = false;
    process.stuck = process.alive && process.script->survives_kill;
    if (process.alive && !process.stuck) end(rank, std::nullopt, 9);
  }
  later(chance_.up_to(2ms), [this] { tree_killed_if_so(); });
  later(kill_limit, [this] { kill_given_up(); });
}

void FakeHost::tree_killed_if_so() {
  const bool all_reported = std::all_of(processes_.begin(), processes_.end(),
                                        [](const auto& entry) { return entry.second.reported; });
  if (!killing_ || !all_reported || script_.kill_hangs) return;
  killing_ = false;
  later(chance_.up_to(1ms), [this] { feed(agent_event::TreeKilled{}); });
}

void FakeHost::kill_given_up() {
  if (!killing_ || script_.kill_hangs) return;
  killing_ = false;
  agent_event::TreeKilled killed;
  for (const auto& [rank, process] : processes_)
    if (process.stuck) killed.survivors.push_back({100 + rank, 0, "true"});
  feed(killed);
}

void FakeHost::perform(const agent_action::ResumeReading&) {
  paused_ = false;
  for (const auto& [rank, process] : processes_) plan_read(rank);
}

void FakeHost::perform(const agent_action::Leave&) {
  if (gone_at_) return;
  gone_at_ = time_.now();
  for (auto& [id, link] : links_) link.to_launcher->close();
  links_.clear();
}

}  // namespace train::simulation
