// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/simulation/ports.hpp"

#include <algorithm>
#include <limits>

#include "launcher/frames/frame.hpp"
#include "launcher/talks/sweep_report.hpp"

namespace train::simulation {

using namespace std::chrono_literals;

class FakeTransport::Link final : public HostLink {
 public:
  Link(MortalProcess& supervisor, Connection& connection)
      : supervisor_(supervisor), connection_(connection) {}
  ~Link() override {
    connection_.is_wanted = false;
    if (!connection_.is_open || supervisor_.is_dead()) return;
    connection_.to_host.close();
    connection_.from_host.forget();
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void send(std::string bytes) override {
    if (!supervisor_.acts()) return;
    if (connection_.is_open)
      connection_.to_host.send(std::move(bytes));
    else
      connection_.waiting.push_back(std::move(bytes));
  }
  std::size_t unsent_bytes() const override { return 0; }

 private:
  MortalProcess& supervisor_;
  Connection& connection_;
};

std::unique_ptr<HostLink> FakeTransport::open(const Host&, const AgentCall& call,
                                              LinkEvents events) {
  const int host = std::stoi(call.key.substr(call.key.rfind('-') + 1));
  const HostScript& script = scenario_.hosts[static_cast<std::size_t>(host)];
  Connection& made = connections_.emplace_back(time_, chance_, script, host, std::move(events));
  FakeHost& fake = hosts_[static_cast<std::size_t>(host)];
  made.to_host.deliver_to(
      {[&made, &fake](std::string_view bytes) { fake.receive(made.link, bytes); },
       [&made, &fake] { fake.link_closed(made.link); }});
  made.from_host.deliver_to({[this, &made](std::string_view bytes) {
                               if (supervisor_.is_frozen())
                                 return supervisor_.run([this, &made, kept = std::string(bytes)] {
                                   if (is_wanted(made)) made.events.on_bytes(kept);
                                 });
                               if (is_wanted(made)) made.events.on_bytes(bytes);
                             },
                             [this, &made] {
                               supervisor_.run([this, &made] {
                                 if (is_wanted(made))
                                   made.events.on_closed(
                                       make_error(ErrorClass::host, "connection reset"));
                               });
                             }});
  made.is_sweep = call.verb == AgentCall::Verb::sweep;
  if (!supervisor_.acts()) return std::make_unique<Link>(supervisor_, made);
  if (call.verb == AgentCall::Verb::attach)
    time_.at(std::max<Instant>(script.connect_delay, time_.now() + script.login_time),
             [this, &made] { connect(made); });
  else
    time_.at(time_.now(),
             [this, &made, limit = call.connect_limit.value_or(10s)] { reconnect(made, limit); });
  return std::make_unique<Link>(supervisor_, made);
}

void FakeTransport::report_opened(Connection& connection) {
  supervisor_.run([this, &connection] {
    if (is_wanted(connection)) connection.events.on_open({address_of(connection.host), "ssh"});
  });
}

bool FakeTransport::is_cut(const Connection& connection) const {
  const HostScript& script = script_of(connection);
  return script.cut_until(Way::to_host, time_.now()) ||
         script.cut_until(Way::to_supervisor, time_.now()) ||
         !hosts_[static_cast<std::size_t>(connection.host)].reachable();
}

void FakeTransport::fail_later(Connection& connection, nanoseconds delay, const char* why) {
  time_.at(time_.now() + delay, [this, &connection, why] {
    supervisor_.run([this, &connection, why] {
      if (is_wanted(connection)) connection.events.on_closed(make_error(ErrorClass::host, why));
    });
  });
}

void FakeTransport::connect(Connection& connection) {
  if (!is_wanted(connection)) return;
  if (is_cut(connection)) return fail_later(connection, 10s, "connection refused");
  FakeHost& fake = hosts_[static_cast<std::size_t>(connection.host)];
  if (fake.dead() || fake.gone_at()) fake.revive();
  join(connection);
}

// To a host that was reached before.
void FakeTransport::reconnect(Connection& connection, milliseconds limit) {
  if (!is_wanted(connection)) return;
  if (is_cut(connection)) return fail_later(connection, limit, "connection timed out");
  time_.at(time_.now() + script_of(connection).login_time,
           [this, &connection] { log_in(connection); });
}

// A login that the network has left in the middle waits for it.
void FakeTransport::log_in(Connection& connection) {
  if (!is_wanted(connection)) return;
  if (is_cut(connection))
    return time_.at(time_.now() + 1s, [this, &connection] { log_in(connection); });
  const FakeHost& fake = hosts_[static_cast<std::size_t>(connection.host)];
  if (connection.is_sweep) return report_sweep(connection);
  if (!fake.was_connected()) return answer(connection, message::NoAgent{fake.boot_id()});
  if (!fake.dead() && !fake.gone_at()) return join(connection);
  if (!fake.dead() && fake.has_stuck())
    return answer(connection, message::LeftBehind{{{100, 0, "true"}}});
  answer(connection, message::NoAgent{fake.boot_id()});
}

void FakeTransport::join(Connection& connection) {
  connection.link = hosts_[static_cast<std::size_t>(connection.host)].connect(connection.from_host);
  connection.is_open = true;
  for (std::string& bytes : std::exchange(connection.waiting, {}))
    connection.to_host.send(std::move(bytes));
  report_opened(connection);
}

// In place of an agent.
void FakeTransport::answer(Connection& connection, const Message& what) {
  connection.from_host.send(frame_of(what));
  connection.from_host.close();
  report_opened(connection);
}

// What a killed agent has left its guard has ended by now, but for what nothing can end.
void FakeTransport::report_sweep(Connection& connection) {
  const FakeHost& fake = hosts_[static_cast<std::size_t>(connection.host)];
  SweepReport report;
  report.is_running = fake.was_connected() && !fake.dead() && !fake.gone_at();
  if (!report.is_running && !fake.dead() && fake.has_stuck())
    report.survivors.push_back({100, 0, "true"});
  connection.from_host.send(encode_sweep_report(report) + "\n");
  connection.from_host.close();
  report_opened(connection);
}

void FakeTransport::break_connections(int host, const Break& how) {
  for (Connection& connection : connections_) {
    if (connection.host != host || !connection.is_open) continue;
    connection.to_host.break_off(how.host_hears);
    connection.from_host.break_off(how.supervisor_hears);
  }
}

bool FakeTransport::has_links() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const Connection& connection) { return connection.is_wanted; });
}

int FakeTransport::opened(int host) const {
  return static_cast<int>(
      std::count_if(connections_.begin(), connections_.end(),
                    [host](const Connection& connection) { return connection.host == host; }));
}

void FakeTransport::die(bool silently) {
  supervisor_.die();
  for (Connection& connection : connections_) {
    if (!connection.is_open || !connection.is_wanted) continue;
    connection.from_host.forget();
    if (!silently) connection.to_host.close();
    connection.is_open = false;
  }
}

void CheckedOutput::check(const OutputChunk& chunk) {
  const RankOfAttempt id = source_of(chunk);
  const std::size_t stream = chunk.stream == OutputStream::err ? 1 : 0;
  if (unsure_.contains(id)) return;
  auto& place = received_[id][stream];
  if (chunk.dropped > 0) complaints_.push_back("output is missing");
  if (id.is_of_metrics) {
    if (chunk.bytes != report_bytes(chunk.rank, place, chunk.bytes.size()))
      complaints_.push_back("metrics are not what was appended");
    place += chunk.bytes.size();
    return;
  }
  for (std::string_view left = chunk.bytes; !left.empty();) {
    const auto right = printed_bytes(chunk.rank, stream, place, left.size());
    if (!left.starts_with(right)) {
      complaints_.push_back("output is not what was printed");
      break;
    }
    place += right.size();
    left.remove_prefix(right.size());
  }
}

std::uint64_t CheckedOutput::take(OutputChunk chunk, nanoseconds age) {
  if (!supervisor_.acts()) return ++taken_;
  check(chunk);
  if (chunk.stream != OutputStream::metrics)
    last_taken_[static_cast<std::size_t>(chunk.rank)] = time_.now();
  if (age < 0ns) complaints_.push_back("output of the future");
  const Piece piece{source_of(chunk), chunk.stream == OutputStream::err ? 1u : 0u,
                    chunk.bytes.size()};
  ++taken_;
  if (has_given_up_ || is_of_no_use(piece)) {
    lose(piece);
    ++kept_;
    if (has_given_up_)
      ++synced_;
    else
      sync(piece);
    report_kept_later();
    return taken_;
  }
  if (waiting_.empty()) first_since_ = time_.now();
  waiting_.push_back(piece);
  if (last_written_ < HostScript::never)
    last_written_ =
        scenario_.logs_answer(std::max(last_written_, time_.now()) + scenario_.write_time);
  if (last_written_ < HostScript::never)
    time_.at(last_written_ + scenario_.write_delay,
             [this] { supervisor_.run([this] { keep(); }); });
  look_later();
  return taken_;
}

void CheckedOutput::keep() {
  if (has_given_up_) return;
  if (is_displaced_) return on_refused_();
  const Piece piece = waiting_.front();
  waiting_.pop_front();
  first_since_ = time_.now();
  if (abandoned_ > 0) {
    --abandoned_;
    return sync(piece);
  }
  ++kept_;
  logs_.write(piece.id, piece.stream, piece.size);
  sync(piece);
  on_kept_();
}

void CheckedOutput::sync(const Piece& piece) {
  const Instant synced = scenario_.logs_answer(time_.now() + 1s);
  if (synced < HostScript::never)
    time_.at(synced, [this, piece] { supervisor_.run([this, piece] { note_sync(piece); }); });
}

// What was lost goes with it. Whoever has taken the logs over has synced them.
void CheckedOutput::note_sync(const Piece& piece) {
  if (has_given_up_) return;
  ++synced_;
  auto& synced = logs_.synced[piece.id][piece.stream];
  if (!is_displaced_) synced = std::min(synced + piece.size, logs_.written[piece.id][piece.stream]);
  on_kept_();
}

void CheckedOutput::look_later() {
  if (!scenario_.logs_hang || waiting_.empty()) return;
  time_.at(std::max(time_.now(), first_since_ + last_stall),
           [this] { supervisor_.run([this] { look(); }); });
}

void CheckedOutput::look() {
  const bool hangs = !waiting_.empty() && time_.now() - first_since_ >= last_stall;
  if (!hangs || has_given_up_ || is_displaced_) return;
  hurried_ = ended_;
  if (is_end_near_) has_given_up_ = logs_.is_sync_given_up = true;
  give_up();
  if (is_end_near_) synced_ = taken_;
  report_kept_later();
}

// The disk may have the first of them at last; the next attempt does not wait for that.
void CheckedOutput::give_up() {
  for (; abandoned_ < waiting_.size() && (has_given_up_ || is_hurried(waiting_[abandoned_]));
       ++abandoned_) {
    lose(waiting_[abandoned_]);
    ++kept_;
  }
}

void CheckedOutput::lose(const Piece& piece) { logs_.lost[piece.id][piece.stream] += piece.size; }

bool CheckedOutput::is_of_no_use(const Piece& piece) const {
  return abandoned_ > 0 && abandoned_ == waiting_.size() && is_hurried(piece);
}

bool CheckedOutput::is_hurried(const Piece& piece) const {
  const auto hurried = hurried_.find(piece.id.of.trial);
  return hurried != hurried_.end() && piece.id.of.attempt <= hurried->second;
}

void CheckedOutput::report_kept_later() {
  time_.at(time_.now(), [this] { supervisor_.run([this] { on_kept_(); }); });
}

void CheckedOutput::expect_end() {
  is_end_near_ = true;
  look_later();
}

void CheckedOutput::expect_another(AttemptId ended) {
  ended_[ended.trial] = ended.attempt;
  look_later();
}

// One entry after the other. What was not written when a process dies never is.
void FakeJournal::append(std::string entry, bool durable,
                         std::function<void(Result<void>)> on_written) {
  if (!supervisor_.acts()) return;
  appended_.push_back(entry);
  nanoseconds work = chance_.up_to(durable ? 10ms : 1ms);
  if (chance_.one_in(20)) work += chance_.up_to(scenario_.journal_time);
  free_at_ = std::max(free_at_, time_.now()) + work;
  time_.at(free_at_, [this, entry = std::move(entry), durable, on_written] {
    supervisor_.run([this, entry, durable, on_written] {
      const Result<void> result = write(entry, durable);
      time_.at(time_.now() + chance_.up_to(1ms), [this, result, on_written] {
        supervisor_.run([result, on_written] { on_written(result); });
      });
    });
  });
}

void FakeJournal::look(std::function<void()> then) {
  free_at_ = std::max(free_at_, time_.now()) + chance_.up_to(1ms);
  time_.at(free_at_, [this, then = std::move(then)] { supervisor_.run(then); });
}

Result<void> FakeJournal::write(const std::string& entry, bool durable) {
  if (has_failed_ || disk_.entries.size() >= scenario_.journal_room) {
    has_failed_ = true;
    return fail(ErrorClass::no_input, "the disk is full");
  }
  if (disk_.entries.size() != next_) {
    has_failed_ = true;
    return fail(ErrorClass::busy, "another launcher has taken over");
  }
  disk_.entries.push_back(entry);
  ++next_;
  if (durable) disk_.durable = next_;
  return {};
}

FakeContext::FakeContext(VirtualTime& time, const Scenario& scenario, Events events)
    : time_(time), scenario_(scenario), events_(std::move(events)) {
  later(scenario.context_packed.value_or(1s), [this] { name(); });
}

void FakeContext::later(Instant when, std::function<void()> what) {
  time_.at(when, [alive = std::weak_ptr<bool>(alive_), what = std::move(what)] {
    if (!alive.expired()) what();
  });
}

void FakeContext::name() {
  if (!scenario_.context_packed)
    return events_.on_failed(make_error(ErrorClass::no_input, "cannot read it"));
  events_.on_named({{std::string(64, 'a'), scenario_.context_size}, 1, 1, {}});
}

void FakeContext::pack() {
  if (!std::exchange(is_packing_, true)) add_piece_later();
}

// Packing takes longer than most hosts take to say what they have.
void FakeContext::add_piece_later() {
  later(time_.now() + 3ms, [this] { add_piece(); });
}

void FakeContext::add_piece() {
  const std::uint64_t begin = pieces_.empty() ? 0 : pieces_.back().end;
  const std::uint64_t size =
      std::min<std::uint64_t>(context_piece_size, scenario_.context_size - begin);
  const std::string bytes(static_cast<std::size_t>(size),
                          static_cast<char>(begin / context_piece_size));
  pieces_.push_back({std::make_shared<const std::string>(encode_frame(FrameKind::context, bytes)),
                     begin + size, size < context_piece_size});
  if (!pieces_.back().is_last) add_piece_later();
  events_.on_piece();
}

}  // namespace train::simulation
