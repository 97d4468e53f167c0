// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/simulation/ports.hpp"

#include <algorithm>

#include "launcher/wire/frame.hpp"

namespace train::simulation {

using namespace std::chrono_literals;

class FakeTransport::Link final : public HostLink {
 public:
  explicit Link(Connection& connection) : connection_(connection) {}
  ~Link() override {
    connection_.is_wanted = false;
    if (!connection_.is_open) return;
    connection_.to_host.close();
    connection_.from_host.forget();
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void send(std::string bytes) override {
    if (connection_.is_open)
      connection_.to_host.send(std::move(bytes));
    else
      connection_.waiting.push_back(std::move(bytes));
  }
  std::size_t unsent_bytes() const override { return 0; }

 private:
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
                               if (is_wanted(made)) made.events.on_bytes(bytes);
                             },
                             [this, &made] {
                               if (is_wanted(made))
                                 made.events.on_closed(
                                     make_error(ErrorClass::host, "connection reset"));
                             }});
  if (call.verb == AgentCall::Verb::attach)
    time_.at(script.connect_delay, [this, &made] { connect(made); });
  else
    time_.at(time_.now(),
             [this, &made, limit = call.connect_limit.value_or(10s)] { reconnect(made, limit); });
  return std::make_unique<Link>(made);
}

bool FakeTransport::is_cut(const Connection& connection) const {
  const HostScript& script = script_of(connection);
  return script.cut_until(Way::to_host, time_.now()) ||
         script.cut_until(Way::to_launcher, time_.now()) ||
         !hosts_[static_cast<std::size_t>(connection.host)].reachable();
}

void FakeTransport::fail_later(Connection& connection, nanoseconds delay, const char* why) {
  time_.at(time_.now() + delay, [this, &connection, why] {
    if (is_wanted(connection)) connection.events.on_closed(make_error(ErrorClass::host, why));
  });
}

void FakeTransport::connect(Connection& connection) {
  if (!is_wanted(connection)) return;
  if (is_cut(connection)) return fail_later(connection, 10s, "connection refused");
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
  if (!fake.dead() && !fake.gone_at()) return join(connection);
  if (!fake.dead() && fake.has_stuck())
    return fail_later(connection, 0s, "a process could not be ended");
  tell_no_agent(connection);
}

void FakeTransport::join(Connection& connection) {
  connection.link = hosts_[static_cast<std::size_t>(connection.host)].connect(connection.from_host);
  connection.is_open = true;
  for (std::string& bytes : std::exchange(connection.waiting, {}))
    connection.to_host.send(std::move(bytes));
  connection.events.on_open({address_of(connection.host), "ssh"});
}

void FakeTransport::tell_no_agent(Connection& connection) {
  const FakeHost& fake = hosts_[static_cast<std::size_t>(connection.host)];
  connection.from_host.send(frame_of(message::NoAgent{fake.boot_id()}));
  connection.from_host.close();
  connection.events.on_open({address_of(connection.host), "ssh"});
}

void FakeTransport::break_connections(int host, const Break& how) {
  for (Connection& connection : connections_) {
    if (connection.host != host || !connection.is_open) continue;
    connection.to_host.break_off(how.host_hears);
    connection.from_host.break_off(how.launcher_hears);
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
  is_dead_ = true;
  for (Connection& connection : connections_) {
    if (!connection.is_open || !connection.is_wanted) continue;
    connection.from_host.forget();
    if (!silently) connection.to_host.close();
    connection.is_open = false;
  }
}

std::uint64_t CheckedOutput::take(OutputChunk chunk, nanoseconds age) {
  const std::size_t stream = chunk.stream == OutputStream::out ? 0 : 1;
  auto& place = received_[static_cast<std::size_t>(chunk.rank)][stream];
  for (const char byte : chunk.bytes)
    if (byte != printed_byte(chunk.rank, stream, place++)) {
      complaints_.push_back("output is not what was printed");
      break;
    }
  last_taken_[static_cast<std::size_t>(chunk.rank)] = time_.now();
  if (age < 0ns) complaints_.push_back("output of the future");
  last_written_ = std::max(last_written_, time_.now()) + scenario_.write_time;
  time_.at(last_written_ + scenario_.write_delay, [this] {
    ++kept_;
    on_kept_();
  });
  return ++taken_;
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
