// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/output/output_sink.hpp"
#include "launcher/ports/context_source.hpp"
#include "launcher/ports/transport.hpp"
#include "tests/launcher/simulation/fake_host.hpp"
#include "tests/launcher/simulation/one_way.hpp"

namespace train::simulation {

/// Reaches the hosts of a scenario as its script says. One launcher: it can die.
class FakeTransport final : public Transport {
 public:
  FakeTransport(VirtualTime& time, Chance& chance, const Scenario& scenario,
                std::deque<FakeHost>& hosts)
      : time_(time), chance_(chance), scenario_(scenario), hosts_(hosts) {}

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;
  /// All connections to this host are gone.
  void break_connections(int host, const Break& how);
  /// The launcher's process ends, and the kernel closes its connections, unless the machine went
  /// with it.
  void die(bool silently);
  bool is_dead() const { return is_dead_; }
  /// Links that the launcher has not given up.
  bool has_links() const;
  /// How often the launcher has begun to reach this host.
  int opened(int host) const;

 private:
  class Link;
  struct Connection {
    Connection(VirtualTime& time, Chance& chance, const HostScript& script, int to, LinkEvents told)
        : host(to),
          events(std::move(told)),
          to_host(time, chance, script, Way::to_host, {}),
          from_host(time, chance, script, Way::to_launcher, {}) {}

    int host;
    LinkEvents events;
    OneWay to_host;
    OneWay from_host;
    LinkId link = 0;                   ///< the agent's number of it
    std::vector<std::string> waiting;  ///< until it is open
    bool is_open = false;              ///< the stream
    bool is_wanted = true;             ///< the link lives
  };
  bool is_wanted(const Connection& connection) const { return connection.is_wanted && !is_dead_; }
  const HostScript& script_of(const Connection& connection) const {
    return scenario_.hosts[static_cast<std::size_t>(connection.host)];
  }
  bool is_cut(const Connection& connection) const;
  void connect(Connection& connection);
  void reconnect(Connection& connection, milliseconds limit);
  void log_in(Connection& connection);
  void join(Connection& connection);
  void tell_no_agent(Connection& connection);
  void fail_later(Connection& connection, nanoseconds delay, const char* why);

  VirtualTime& time_;
  Chance& chance_;
  const Scenario& scenario_;
  std::deque<FakeHost>& hosts_;
  std::deque<Connection> connections_;  ///< all that there ever were
  bool is_dead_ = false;
};

/// Sees that the output of ranks arrives once, in order and unharmed, and keeps it after a while.
class CheckedOutput final : public OutputSink {
 public:
  CheckedOutput(VirtualTime& time, const Scenario& scenario, int ranks,
                std::vector<std::string>& complaints, std::function<void()> on_kept)
      : time_(time),
        scenario_(scenario),
        complaints_(complaints),
        on_kept_(std::move(on_kept)),
        received_(static_cast<std::size_t>(ranks)),
        last_taken_(static_cast<std::size_t>(ranks)) {}

  std::uint64_t take(OutputChunk chunk, nanoseconds age) override;
  std::uint64_t kept() const override { return kept_; }
  bool has_room() const override { return true; }
  void expect_end() override {}
  std::uint64_t taken() const { return taken_; }

  /// When something has last arrived of a rank.
  Instant last_taken(int rank) const { return last_taken_[static_cast<std::size_t>(rank)]; }
  /// Bytes that have arrived of a rank's stream: 0 is stdout, 1 stderr.
  std::uint64_t received(int rank, std::size_t stream) const {
    return received_[static_cast<std::size_t>(rank)][stream];
  }

 private:
  VirtualTime& time_;
  const Scenario& scenario_;
  std::vector<std::string>& complaints_;
  std::function<void()> on_kept_;
  std::vector<std::array<std::uint64_t, 2>> received_;
  std::vector<Instant> last_taken_;
  std::uint64_t taken_ = 0;
  std::uint64_t kept_ = 0;
  Instant last_written_{0};
};

/// The context of a scenario.
class FakeContext final : public ContextSource {
 public:
  FakeContext(VirtualTime& time, const Scenario& scenario, Events events);
  void pack() override;
  const std::vector<ContextPiece>& pieces() const override { return pieces_; }

 private:
  void later(Instant when, std::function<void()> what);
  void name();
  void add_piece_later();
  void add_piece();

  VirtualTime& time_;
  const Scenario& scenario_;
  Events events_;
  bool is_packing_ = false;
  std::vector<ContextPiece> pieces_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace train::simulation
