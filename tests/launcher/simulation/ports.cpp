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
    if (connection_.is_open) connection_.to_host.send(std::move(bytes));
  }
  std::size_t unsent_bytes() const override { return 0; }

 private:
  Connection& connection_;
};

std::unique_ptr<HostLink> FakeTransport::open(const Host&, const AgentCall& call,
                                              LinkEvents events) {
  const int host = std::stoi(call.key.substr(call.key.rfind('-') + 1));
  const HostScript& script = scenario_.hosts[static_cast<std::size_t>(host)];
  FakeHost& fake = hosts_[static_cast<std::size_t>(host)];
  const auto if_wanted = [this, host](auto what) {
    if (Connection& mine = connections_.at(host); mine.is_wanted && !is_dead_) what(mine);
  };
  const auto added = connections_.emplace(
      host, Connection{OneWay(time_, chance_, script,
                              {[&fake](std::string_view bytes) { fake.receive(bytes); },
                               [&fake] { fake.link_closed(); }}),
                       OneWay(time_, chance_, script,
                              {[if_wanted](std::string_view bytes) {
                                 if_wanted([&](Connection& mine) { mine.events.on_bytes(bytes); });
                               },
                               [if_wanted] {
                                 if_wanted([](Connection& mine) {
                                   mine.events.on_closed(
                                       make_error(ErrorClass::host, "connection reset"));
                                 });
                               }}),
                       std::move(events)});
  time_.at(script.connect_delay, [this, host] { connect(host); });
  return std::make_unique<Link>(added.first->second);
}

void FakeTransport::connect(int host) {
  Connection& connection = connections_.at(host);
  if (is_dead_ || !connection.is_wanted) return;
  FakeHost& fake = hosts_[static_cast<std::size_t>(host)];
  if (!fake.reachable())
    return time_.at(time_.now() + 10s, [this, &connection] {
      if (connection.is_wanted && !is_dead_)
        connection.events.on_closed(make_error(ErrorClass::host, "connection refused"));
    });
  fake.connect(connection.from_host);
  connection.is_open = true;
  connection.events.on_open({address_of(host), "ssh"});
}

void FakeTransport::break_connection(int host) {
  Connection& connection = connections_.at(host);
  if (!hosts_[static_cast<std::size_t>(host)].was_connected()) return;
  for (OneWay* way : {&connection.to_host, &connection.from_host}) {
    way->forget();
    way->close();
  }
}

bool FakeTransport::has_links() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& entry) { return entry.second.is_wanted; });
}

void FakeTransport::die(bool silently) {
  is_dead_ = true;
  for (auto& [host, connection] : connections_) {
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
