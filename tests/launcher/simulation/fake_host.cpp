// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/simulation/fake_host.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/rendezvous/frameworks.hpp"

namespace train::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t pipe_size = 64u << 10;
// What is printed comes again after this many bytes, a prime that is more than a pipe holds.
constexpr std::uint64_t pattern_size = 65'537;
constexpr nanoseconds kill_limit = 10s;
constexpr nanoseconds first_attach_limit = 30s;  // as in the agent's process

std::string pattern() {
  std::string bytes;
  for (std::uint64_t i = 0; i < pattern_size; ++i) bytes += static_cast<char>(i * 31 + i / 251);
  return bytes;
}

}  // namespace

std::string_view printed_bytes(int rank, std::size_t stream, std::uint64_t place,
                               std::uint64_t size) {
  static const std::string bytes = pattern();
  const auto start = static_cast<std::uint64_t>(rank) * 7919 + stream * 32'771 + place;
  return std::string_view(bytes).substr(start % pattern_size, size);
}

std::string report_line(int rank, std::uint64_t number) {
  return fmt::format("{{\"n\":{:7},\"r\":{:3}}}\n", number, rank);
}

std::string report_bytes(int rank, std::uint64_t place, std::uint64_t size) {
  std::string bytes;
  for (std::uint64_t line = place / report_size; bytes.size() < size + place % report_size; ++line)
    bytes += report_line(rank, line);
  return bytes.substr(place % report_size, size);
}

FakeHost::FakeHost(VirtualTime& time, Chance& chance, const Scenario& scenario, int index,
                   Readiness& readiness, const KeptLogs& logs, std::vector<std::string>& complaints)
    : time_(time),
      chance_(chance),
      scenario_(scenario),
      index_(index),
      script_(scenario.hosts[static_cast<std::size_t>(index)]),
      readiness_(readiness),
      logs_(logs),
      complaints_(complaints),
      agent_({"h" + std::to_string(index), "boot", 1}, scenario.output_capacity) {}

LinkId FakeHost::connect(OneWay& to_supervisor) {
  const bool is_first = !was_connected();
  links_[++last_link_].to_supervisor = &to_supervisor;
  if (is_first) meet_troubles();
  if (used_ == 0) {
    later(first_attach_limit, [this] {
      if (used_ == 0) perform(agent_action::Leave{});
    });
  }
  return last_link_;
}

// What was to happen to the one before happens no more. Its ranks are gone with it, or its guard
// has seen to them; with a crash all are.
void FakeHost::revive() {
  const bool has_crashed = dead();
  is_reborn_ = is_reborn_ || has_crashed;
  ++births_;
  for (auto& [id, process] : processes_) {
    if (has_crashed) process.alive = process.orphan_alive = false;
  }
  if (alive() > 0) complaints_.push_back("an agent was started where ranks of another one live");
  agent_ = Agent({"h" + std::to_string(index_), boot_id(), 1 + births_}, scenario_.output_capacity);
  links_.clear();
  used_ = 0;
  epoch_ = 0;
  context_taken_ = 0;
  stop_files_.clear();
  paused_.clear();
  killing_.clear();
  armed_.reset();
  gone_at_.reset();
  stop_heard_at_.reset();
}

// Those that an agent tells of by itself.
void FakeHost::meet_troubles() {
  if (script_.fault == HostFault::agent_failure)
    later(script_.fault_at, [this] {
      note_stop();
      feed(agent_event::Failed{"out of memory"});
    });
  if (script_.fault == HostFault::agent_dismissed)
    later(script_.fault_at, [this] {
      note_stop();
      feed(agent_event::Dismissed{});
    });
  if (script_.fault == HostFault::agent_killed) later(script_.fault_at, [this] { die(); });
  if (script_.port_taken_at)
    later(*script_.port_taken_at, [this] {
      const std::vector<int>& held = readiness_.ports[newest_][index_];
      if (!held.empty()) feed(agent_event::PortTaken{held.front(), 65'534, newest_});
    });
}

void FakeHost::blocked_for(nanoseconds time, AttemptId of) {
  for (milliseconds so_far = 2s; so_far < time; so_far += 2s)
    later(so_far, [this, so_far, of] {
      feed(agent_event::Blocked{"stat of '/nfs'", so_far, false, of});
    });
}

bool FakeHost::reachable() const {
  return !script_.has_fault(HostFault::crash, time_.now()) &&
         !script_.has_fault(HostFault::freeze, time_.now()) &&
         !script_.has_fault(HostFault::partition, time_.now()) && !script_.unreachable;
}

bool FakeHost::dead() const {
  const bool has_crashed = script_.fault == HostFault::crash && time_.now() >= script_.fault_at;
  return (has_crashed && !is_reborn_) || (frozen() && !script_.fault_for);
}

const FakeProcess* FakeHost::process(int rank) const {
  return process(RankOfAttempt{newest_, rank});
}

const FakeProcess* FakeHost::process(const RankOfAttempt& id) const {
  const auto found = processes_.find(id);
  return found == processes_.end() ? nullptr : &found->second;
}

int FakeHost::alive() const {
  int alive = 0;
  for (const auto& [id, process] : processes_)
    alive += (process.alive && !process.stuck) + process.orphan_alive;
  return alive;
}

bool FakeHost::has_stuck() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const auto& entry) { return entry.second.stuck; });
}

void FakeHost::later(nanoseconds delay, std::function<void()> what) {
  time_.at(time_.now() + delay, [this, births = births_, what = std::move(what)] {
    when_awake([this, births, what] {
      if (births == births_) what();
    });
  });
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
  if (const auto* attach = std::get_if<message::Attach>(&*message))
    links_.at(link).epoch = attach->epoch;
  if (!std::exchange(links_.at(link).has_spoken, true) &&
      !std::holds_alternative<message::Attach>(*message))
    complaints_.push_back("an agent was told something before Attach");
  if (std::holds_alternative<message::Stop>(*message)) note_stop();
  if (const auto* ping = std::get_if<message::Ping>(&*message)) check(links_.at(link), *ping);
  if (const auto* told = std::get_if<message::Acknowledge>(&*message))
    check(links_.at(link), *told);
  feed(agent_event::Received{link, std::move(*message)});
}

// Nothing is acknowledged that is not in the logs. Of chunks before the last one of each rank the
// same was told before.
void FakeHost::check(const Link& link, const message::Acknowledge& told) {
  if (told.chunk > link.sent.size() || told.synced > told.chunk)
    return complaints_.push_back("output is acknowledged that was not sent");
  if (told.chunk > 0)
    if (const auto& [id, end] = link.sent[told.chunk - 1]; end > logs_.settled(id))
      complaints_.push_back("output is acknowledged that is not written");
  if (told.synced > 0)
    if (const auto& [id, end] = link.sent[told.synced - 1]; end > logs_.settled_for_good(id))
      complaints_.push_back("output is acknowledged as synced that is not");
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
  for (auto& [id, process] : processes_) kill(id, process);
  for (auto& [id, link] : links_) link.to_supervisor->close();
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
  later(script_.time_of(std::max(*deadline - clock(), nanoseconds(0))), [this, deadline] {
    if (armed_ != deadline) return;
    armed_.reset();
    feed(agent_event::Tick{});
  });
}

void FakeHost::send(std::string bytes) {
  if (const auto link = links_.find(used_); link != links_.end())
    link->second.to_supervisor->send(std::move(bytes));
}

void FakeHost::perform(const agent_action::UseLink& action) {
  used_ = action.link;
  const std::uint64_t epoch = links_.at(used_).epoch;
  if (epoch < epoch_) complaints_.push_back("an agent serves a launcher that was replaced");
  epoch_ = std::max(epoch, epoch_);
}

void FakeHost::perform(const agent_action::CloseLink& action) {
  const auto link = links_.find(action.link);
  if (link == links_.end()) return;
  if (action.last_word) link->second.to_supervisor->send(frame_of(*action.last_word));
  link->second.to_supervisor->close();
  links_.erase(link);
}

void FakeHost::perform(const agent_action::SendMessage& action) {
  if (const auto* ready = std::get_if<message::Ready>(&action.message))
    readiness_.ready[ready->of].insert(index_);
  if (const auto* usage = std::get_if<message::Usage>(&action.message)) check(*usage);
  send(frame_of(action.message));
}

void FakeHost::check(Link& link, const message::Ping& ping) const {
  if (link.told_usage_at && ping.newest_pong > *link.told_usage_at) link.told_usage_at.reset();
}

// Where a line is slow or stands still, no more than the newest waits.
void FakeHost::check(const message::Usage& told) {
  if (const auto link = links_.find(used_); link != links_.end()) {
    if (link->second.told_usage_at)
      complaints_.push_back("what ranks use is told again before it has arrived");
    link->second.told_usage_at = clock();
  }
  for (const UsageOfRank& each : told.ranks) {
    const FakeProcess* const rank = process(RankOfAttempt{told.of, each.rank});
    if (rank == nullptr || rank->reported || !each.usage.memory)
      complaints_.push_back("it is told what a rank uses that does not run");
  }
}

void FakeHost::perform(const agent_action::SendOutput& action) {
  const OutputChunk& chunk = *action.chunk;
  if (const auto link = links_.find(used_); link != links_.end())
    link->second.sent.emplace_back(source_of(chunk),
                                   chunk.begin + chunk.bytes.size() + chunk.dropped);
  send(encode_frame(FrameKind::output, encode_output(chunk, action.packing)));
}

// One thing after the other. Now and then the disk refuses to take something.
void FakeHost::perform(const agent_action::Spool& action) {
  spool_free_at_ = std::max(spool_free_at_, time_.now()) + chance_.up_to(scenario_.spool_time);
  time_.at(spool_free_at_, [this, work = action.work] {
    when_awake([this, work] {
      if (const auto answer = std::visit([this](const auto& w) { return spool(w); }, work))
        feed(agent_event::Spooled{*answer});
    });
  });
}

std::optional<SpoolAnswer> FakeHost::spool(const spool_work::Open& work) {
  return spool_answer::Opened{std::min(work.limit, scenario_.spool_room)};
}

std::optional<SpoolAnswer> FakeHost::spool(const spool_work::Write& work) {
  const bool is_kept = !chance_.one_in(30);
  if (is_kept) spool_[work.offset] = encode_spooled(work.chunks);
  return spool_answer::Written{work.block, is_kept};
}

std::optional<SpoolAnswer> FakeHost::spool(const spool_work::Read& work) {
  auto chunks = decode_spooled(spool_[work.offset]);
  if (!chunks) complaints_.push_back("the spool reads what it has not written");
  return spool_answer::Read{work.block, chunks.has_value(),
                            chunks ? std::move(*chunks) : SpooledChunks()};
}

std::optional<SpoolAnswer> FakeHost::spool(const spool_work::Release& work) {
  spool_.erase(work.offset);
  return std::nullopt;
}

std::optional<SpoolAnswer> FakeHost::spool(const spool_work::Clear&) {
  spool_.clear();
  return std::nullopt;
}

void FakeHost::perform(const agent_action::FindContext& action) {
  if (action.context.size != scenario_.context_size) complaints_.push_back("another context");
  context_taken_ = 0;
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
  checked.of = action.of;
  newest_ = std::max(newest_, action.of);
  if (script_.refuses) checked.problems = {{{}, {}, "no 'python3'", {}}};
  int ports = action.prepare.hold_ports;
  if (script_.miscounts_ports) ports += ports > 0 && chance_.one_in(2) ? -1 : 1;
  while (static_cast<int>(checked.held_ports.size()) < ports)
    checked.held_ports.push_back(20'000 + static_cast<int>(chance_.below(100)) * 100 +
                                 static_cast<int>(checked.held_ports.size()));
  readiness_.ports[action.of][index_] = checked.held_ports;
  checked.run_directory = "/run";
  if (action.prepare.wants_networks)
    checked.networks = {{{"docker0", "172.17.0.1", "172.17.0.0/16", 0, true},
                         {"eth0", address_of(index_), "10.0.0.0/24", 10'000}},
                        20'000,
                        "token"};
  blocked_for(script_.check_delay, action.of);
  later(script_.check_delay, [this, checked] { feed(checked); });
}

// Whoever does not wait for every address may have nothing to say of one.
void FakeHost::perform(const agent_action::ProbeHosts& action) {
  agent_event::HostsProbed probed{{}, action.of};
  for (const ProbeTarget& target : action.targets) {
    const auto host = std::next(places(action.of).begin(), target.host)->first;
    if (target.addresses != std::vector{address_of(host)})
      complaints_.push_back("a host is looked for at addresses that are not its own");
    const bool is_untried = !action.is_thorough && chance_.one_in(4);
    probed.results.push_back(
        {target.host, {is_untried ? ProbeAnswer::untried : ProbeAnswer::reached}});
  }
  later(chance_.up_to(1ms), [this, probed] { feed(probed); });
}

void FakeHost::perform(const agent_action::LookAtRanks& action) {
  agent_event::RanksSeen seen{action.wants_states, {}, {}, action.of};
  for (const auto& [id, process] : processes_)
    if (action.wants_states && id.of == action.of && process.alive)
      seen.states.push_back({id.rank, 1, "rank", "S", "futex_wait_queue", 1, {}, {}});
  later(chance_.up_to(2s), [this, seen] { feed(seen); });
}

void FakeHost::perform(const agent_action::TakeLeases& action) {
  later(chance_.up_to(1ms), [this, of = action.of] { feed(agent_event::LeasesTried{{}, {}, of}); });
}

void FakeHost::perform(const agent_action::EndLeases& action) {
  for (const auto& [id, process] : processes_)
    if (id.of.trial == action.trial && (process.alive || process.orphan_alive))
      complaints_.push_back("the slots of a trial were let go while something of it ran");
}

const std::map<int, int>& FakeHost::places(AttemptId of) const {
  return std::prev(readiness_.first_ranks.upper_bound(of.attempt))->second;
}

int FakeHost::first_rank(AttemptId of) const { return places(of).at(index_); }

// What is left of another attempt, on a machine that runs, but for what no kill ends.
bool FakeHost::has_others_than(AttemptId of) const {
  if (dead() || frozen()) return false;
  return std::any_of(processes_.begin(), processes_.end(), [&](const auto& each) {
    return each.first.of != of && each.second.alive && !each.second.stuck;
  });
}

void FakeHost::perform(const agent_action::StartRank& action) {
  const RankOfAttempt id{action.of, action.rank};
  if (processes_.contains(id)) complaints_.push_back("a rank was started twice");
  // One of each host will do, and of thousands of hosts some.
  if (has_started_.insert(action.of).second && index_ % (1 + readiness_.hosts / 100) == 0)
    check_command(id);
  for (const auto& [other, process] : processes_)
    if (other.rank == id.rank && (process.alive || process.orphan_alive))
      complaints_.push_back("a rank was started while it ran in another attempt");
  for (const FakeHost& host : *readiness_.all)
    if (host.has_others_than(action.of))
      complaints_.push_back("a rank was started while another attempt ran elsewhere");
  if (readiness_.ready[id.of].size() < places(id.of).size())
    complaints_.push_back("a rank was started before every host was ready");
  const RankScript& script = script_.ranks[static_cast<std::size_t>(id.rank - first_rank(id.of))];
  FakeProcess& process = processes_[id];
  process.script = &script;
  blocked_for(script_.start_delay, id.of);
  if (!script.can_start && script.fails_in(id.of.attempt)) {
    process.reported = true;
    return later(script_.start_delay, [this, id] {
      feed(agent_event::RankNotStarted{id.rank, "exec: no such file", ErrorClass::missing, id.of});
    });
  }
  process.alive = true;
  process.began = time_.now();
  process.orphan_alive = script.leaves_orphan;
  process.prints_left = script.prints;
  later(script_.start_delay, [this, id] {
    processes_[id].announced = true;
    feed(agent_event::RankStarted{id.rank, 100 + id.rank, id.of});
    plan_read(id);
    report_end(id);
  });
  live(id);
  measure(id);
}

// Less and less often, and not for ever: a rank may be blocked as long as the world lasts.
void FakeHost::measure(const RankOfAttempt& id) {
  constexpr int most = 8;
  FakeProcess& process = processes_[id];
  if (process.measured == most) return;
  later((1s) * (1 << process.measured++), [this, id] {
    const FakeProcess& each = processes_[id];
    if (each.reported) return;
    RankUsage usage = usage_after(id.rank, time_.now() - each.began);
    usage.memory = usage.memory_peak;
    feed(agent_event::RanksMeasured{{{id.rank, usage}}, id.of});
    measure(id);
  });
}

// Ranks start in the copy of the context. Every rank is told the same ports: those that their hosts
// hold, in the order in which they are asked for.
void FakeHost::check_command(const RankOfAttempt& id) {
  int rendezvous = 0;
  int megascale = 0;
  std::vector<std::string> workers;
  for (const auto& [host, held] : readiness_.ports[id.of]) {
    auto port = held.begin();
    if (scenario_.ports.rendezvous && host == readiness_.ports[id.of].begin()->first)
      rendezvous = *port++;
    if (scenario_.ports.megascale_host == host) megascale = *port++;
    const std::string address = places(id.of).size() == 1 ? "127.0.0.1" : address_of(host);
    for (; port != held.end(); ++port) workers.push_back(address + ":" + std::to_string(*port));
  }
  const std::vector<EnvironmentEntry> expected{{"MASTER_PORT", std::to_string(rendezvous)},
                                               {"MEGASCALE_PORT", std::to_string(megascale)},
                                               {"TF_CONFIG", tensorflow_config(workers, id.rank)}};
  const RankCommand command = agent_.command_of(id.of, id.rank);
  if (command.working_directory != (scenario_.has_context ? "/copy/sub" : "/"))
    complaints_.push_back("a rank was started in another directory");
  if (command.environment != expected)
    complaints_.push_back("a rank was told other ports than those that are held");
}

// The next stretch of a rank's life: it ends with a print, or with its end.
void FakeHost::live(const RankOfAttempt& id) {
  const RankScript& script = *processes_[id].script;
  later(script.lifetime / (script.prints + 1), [this, id] {
    FakeProcess& process = processes_[id];
    if (!process.alive || process.stuck || process.dying) return;
    if (process.in_pipes() >= pipe_size) {
      process.blocked = true;
      return;
    }
    if (process.prints_left == 0) {
      process.ended_by_itself = true;
      const auto& s = *process.script;
      if (!s.fails_in(id.of.attempt)) return end(id, 0, std::nullopt);
      return end(id, s.signal ? std::nullopt : std::optional(s.code), s.signal);
    }
    const std::size_t stream = static_cast<std::size_t>(process.prints_left-- % 2);
    process.printed[stream] += static_cast<std::uint64_t>(process.script->print_bytes);
    append_metrics(id);
    plan_read(id);
    live(id);
  });
}

void FakeHost::end(const RankOfAttempt& id, std::optional<int> code, std::optional<int> signal) {
  FakeProcess& process = processes_[id];
  process.alive = false;
  process.died = time_.now();
  process.code = code;
  process.signal = signal;
  later(chance_.up_to(1ms), [this, id] { report_end(id); });
}

void FakeHost::plan_read(const RankOfAttempt& id) {
  FakeProcess& process = processes_[id];
  const bool wanted = process.announced && process.in_pipes() > 0 && !paused_.contains(id.of);
  if (!wanted || std::exchange(process.read_planned, true)) return;
  later(chance_.up_to(1ms), [this, id] { read(id); });
}

void FakeHost::read(const RankOfAttempt& id) {
  processes_[id].read_planned = false;
  if (paused_.contains(id.of) || gone_at_) return;
  read_piece(id);
  plan_read(id);
  report_end(id);
}

void FakeHost::read_piece(const RankOfAttempt& id) {
  FakeProcess& process = processes_[id];
  const std::size_t stream = process.printed[0] > process.read[0] ? 0 : 1;
  const std::uint64_t size = std::min(process.printed[stream] - process.read[stream], pipe_size);
  std::string bytes;
  while (bytes.size() < size)
    bytes +=
        printed_bytes(id.rank, stream, process.read[stream] + bytes.size(), size - bytes.size());
  process.read[stream] += size;
  if (std::exchange(process.blocked, false)) live(id);
  feed(agent_event::RankPrinted{id.rank, stream == 0 ? OutputStream::out : OutputStream::err, bytes,
                                id.of});
}

// Paused or not.
void FakeHost::drain(const RankOfAttempt& id) {
  while (processes_[id].in_pipes() > 0 && !gone_at_) read_piece(id);
  read_metrics(id);
}

// Whole lines and parts of them.
void FakeHost::append_metrics(const RankOfAttempt& id) {
  FakeProcess& process = processes_[id];
  if (!scenario_.has_metrics) return;
  process.appended += 1 + static_cast<std::uint64_t>(process.prints_left % 7) * 9;
  plan_metrics(id);
}

void FakeHost::plan_metrics(const RankOfAttempt& id) {
  FakeProcess& process = processes_[id];
  const bool wanted = process.appended > process.appended_read && !paused_.contains(id.of);
  if (!wanted || std::exchange(process.metrics_planned, true)) return;
  later(250ms, [this, id] {
    processes_[id].metrics_planned = false;
    const bool is_read = processes_[id].announced && !processes_[id].reported;
    if (is_read && !paused_.contains(id.of)) read_metrics(id);
  });
}

void FakeHost::read_metrics(const RankOfAttempt& id) {
  FakeProcess& process = processes_[id];
  if (process.appended == process.appended_read || gone_at_) return;
  const std::string bytes =
      report_bytes(id.rank, process.appended_read, process.appended - process.appended_read);
  process.appended_read = process.appended;
  feed(agent_event::RankPrinted{id.rank, OutputStream::metrics, bytes, id.of});
}

void FakeHost::report_end(const RankOfAttempt& id) {
  FakeProcess& process = processes_[id];
  const bool over = process.announced && !process.alive;
  if (!over || std::exchange(process.reported, true)) return;
  drain(id);
  agent_event::RankEnded ended{
      id.rank, process.code, process.signal, false, script_.clock(process.died), {}, id.of};
  ended.usage = usage_after(id.rank, process.died - process.began);
  feed(ended);
  tree_killed_if_so(id.of);
}

// Ranks that end well when they are told to look for it.
void FakeHost::perform(const agent_action::MakeStopFile& action) {
  note_stop();
  if (!stop_files_.insert(action.of).second) complaints_.push_back("two stop files of an attempt");
  for (const auto& [id, process] : processes_)
    if (id.of == action.of && process.script->ends_well_on_term)
      later(process.script->term_delay, [this, id = id] {
        const FakeProcess& each = processes_[id];
        if (each.alive && !each.stuck && !each.dying) end(id, 0, std::nullopt);
      });
}

void FakeHost::perform(const agent_action::TerminateRank& action) {
  note_stop();
  if (!stop_files_.contains(action.of))
    complaints_.push_back("a rank was signalled before its stop file was there");
  const RankOfAttempt id{action.of, action.rank};
  const RankScript& script = *processes_[id].script;
  if (script.ignores_term) return;
  later(script.term_delay, [this, id] {
    const FakeProcess& process = processes_[id];
    if (!process.alive || process.stuck || process.dying) return;
    if (process.script->ends_well_on_term)
      end(id, 0, std::nullopt);
    else
      end(id, std::nullopt, 15);
  });
}

void FakeHost::perform(const agent_action::KillTree& action) {
  note_stop();
  killing_.insert(action.of);
  for (auto& [id, process] : processes_)
    if (id.of == action.of) kill(id, process);
  if (script_.floods) flood({action.of, first_rank(action.of)});
  later(chance_.up_to(2ms), [this, of = action.of] { tree_killed_if_so(of); });
  later(kill_limit, [this, of = action.of] { kill_given_up(of); });
}

// In the name of a rank that has ended, for longer than anybody may wait for it.
void FakeHost::flood(const RankOfAttempt& id) {
  if (gone_at_ || time_.now() > std::chrono::minutes(30)) return;
  later(1s, [this, id] {
    FakeProcess& process = processes_[id];
    if (process.reported) {
      process.printed[0] += 100;
      plan_read(id);
    }
    flood(id);
  });
}

void FakeHost::kill(const RankOfAttempt& id, FakeProcess& process) {
  process.orphan_alive = false;
  process.stuck = process.alive && process.script->survives_kill;
  if (!process.alive || process.stuck) return;
  if (gone_at_ || script_.death_time == 0s) return end(id, std::nullopt, 9);
  if (std::exchange(process.dying, true)) return;
  later(script_.death_time, [this, id] {
    if (processes_[id].alive) end(id, std::nullopt, 9);
  });
}

bool FakeHost::has_unreported(AttemptId of) const {
  return std::any_of(processes_.begin(), processes_.end(), [of](const auto& entry) {
    return entry.first.of == of && !entry.second.reported;
  });
}

void FakeHost::tree_killed_if_so(AttemptId of) {
  if (!killing_.contains(of) || has_unreported(of) || script_.kill_hangs) return;
  killing_.erase(of);
  later(chance_.up_to(1ms), [this, of] { feed(agent_event::TreeKilled{{}, of}); });
}

void FakeHost::kill_given_up(AttemptId of) {
  if (script_.kill_hangs || killing_.erase(of) == 0) return;
  agent_event::TreeKilled killed{{}, of};
  for (const auto& [id, process] : processes_) {
    if (id.of != of || !process.stuck) continue;
    drain(id);
    killed.survivors.push_back({100 + id.rank, 0, "true"});
  }
  feed(killed);
}

void FakeHost::perform(const agent_action::ResumeReading& action) {
  paused_.erase(action.of);
  for (const auto& [id, process] : processes_) {
    plan_read(id);
    plan_metrics(id);
  }
}

void FakeHost::perform(const agent_action::ForgetAttempt& action) {
  if (killing_.contains(action.of) || has_unreported(action.of))
    complaints_.push_back("an attempt was forgotten that has not ended");
}

void FakeHost::perform(const agent_action::Leave&) {
  if (gone_at_) return;
  gone_at_ = time_.now();
  for (auto& [id, link] : links_) link.to_supervisor->close();
  links_.clear();
}

}  // namespace train::simulation
