// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/output/output_sink.hpp"
#include "launcher/ports/context_source.hpp"
#include "launcher/ports/journal.hpp"
#include "launcher/ports/transport.hpp"
#include "tests/launcher/simulation/fake_host.hpp"
#include "tests/launcher/simulation/kept_logs.hpp"
#include "tests/launcher/simulation/one_way.hpp"

namespace train::simulation {

/// Reaches the hosts of a scenario as its script says, for one supervisor.
class FakeTransport final : public Transport {
 public:
  FakeTransport(VirtualTime& time, Chance& chance, MortalProcess& supervisor,
                const Scenario& scenario, std::deque<FakeHost>& hosts)
      : time_(time), chance_(chance), supervisor_(supervisor), scenario_(scenario), hosts_(hosts) {}

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;
  /// All connections to this host are gone.
  void break_connections(int host, const Break& how);
  /// The supervisor's process ends, and the kernel closes its connections, unless the machine went
  /// with it.
  void die(bool silently);
  /// Links that the supervisor has not given up.
  bool has_links() const;
  /// How often the supervisor has begun to reach this host.
  int opened(int host) const;

 private:
  class Link;
  struct Connection {
    Connection(VirtualTime& time, Chance& chance, const HostScript& script, int to, LinkEvents told)
        : host(to),
          events(std::move(told)),
          to_host(time, chance, script, Way::to_host, {}),
          from_host(time, chance, script, Way::to_supervisor, {}) {}

    int host;
    LinkEvents events;
    OneWay to_host;
    OneWay from_host;
    LinkId link = 0;                   ///< the agent's number of it
    std::vector<std::string> waiting;  ///< until it is open
    bool is_open = false;              ///< the stream
    bool is_wanted = true;             ///< the link lives
    bool is_sweep = false;             ///< what it asks for
  };
  bool is_wanted(const Connection& connection) const {
    return connection.is_wanted && !supervisor_.is_dead();
  }
  void report_opened(Connection& connection);
  const HostScript& script_of(const Connection& connection) const {
    return scenario_.hosts[static_cast<std::size_t>(connection.host)];
  }
  bool is_cut(const Connection& connection) const;
  void connect(Connection& connection);
  void reconnect(Connection& connection, milliseconds limit);
  void log_in(Connection& connection);
  void join(Connection& connection);
  void answer(Connection& connection, const Message& what);
  void report_sweep(Connection& connection);
  void fail_later(Connection& connection, nanoseconds delay, const char* why);

  VirtualTime& time_;
  Chance& chance_;
  MortalProcess& supervisor_;
  const Scenario& scenario_;
  std::deque<FakeHost>& hosts_;
  std::deque<Connection> connections_;  ///< all that there ever were
};

/// Sees that the output of ranks arrives once, in order and unharmed, and keeps it after a while,
/// on a disk that may hang: then what an attempt has printed that has ended, or the task, is given
/// up after `last_stall`, as the writer of the logs does it.
class CheckedOutput final : public OutputSink {
 public:
  CheckedOutput(VirtualTime& time, MortalProcess& supervisor, const Scenario& scenario, int ranks,
                std::vector<std::string>& complaints, KeptLogs& logs, std::function<void()> on_kept,
                std::function<void()> on_refused)
      : time_(time),
        supervisor_(supervisor),
        scenario_(scenario),
        complaints_(complaints),
        logs_(logs),
        on_kept_(std::move(on_kept)),
        on_refused_(std::move(on_refused)),
        received_(logs.written),
        unsure_(logs.lost),
        last_taken_(static_cast<std::size_t>(ranks)) {}

  std::uint64_t take(OutputChunk chunk, nanoseconds age) override;
  std::uint64_t written() const override { return kept_; }
  std::uint64_t synced() const override { return synced_; }
  void expect_end() override;
  void expect_another(AttemptId ended) override;
  std::uint64_t taken() const { return taken_; }
  /// Another supervisor writes into the logs now: nothing of this one is written any more.
  void displace() { is_displaced_ = true; }

  /// When something has last arrived of a rank.
  Instant last_taken(int rank) const { return last_taken_[static_cast<std::size_t>(rank)]; }
  /// Bytes that have arrived of a rank's stream in an attempt: 0 is stdout, 1 stderr; or of its
  /// metrics, 0.
  std::uint64_t received(const RankOfAttempt& id, std::size_t stream) const {
    const auto found = received_.find(id);
    return found == received_.end() ? 0 : found->second[stream];
  }

  /// A supervisor before has lost something of it: what arrives is not looked at.
  bool is_unsure(const RankOfAttempt& id) const { return unsure_.contains(id); }

 private:
  static constexpr nanoseconds last_stall = std::chrono::seconds(5);
  struct Piece {
    RankOfAttempt id;
    std::size_t stream = 0;
    std::uint64_t size = 0;
  };
  void check(const OutputChunk& chunk);
  void keep();
  void sync(const Piece& piece);
  void note_sync(const Piece& piece);
  void look_later();
  void look();
  void give_up();
  bool is_hurried(const Piece& piece) const;
  void lose(const Piece& piece);
  bool is_of_no_use(const Piece& piece) const;
  void report_kept_later();

  VirtualTime& time_;
  MortalProcess& supervisor_;
  const Scenario& scenario_;
  std::vector<std::string>& complaints_;
  KeptLogs& logs_;
  bool is_displaced_ = false;
  std::function<void()> on_kept_;
  std::function<void()> on_refused_;
  StreamBytes received_;
  const StreamBytes unsure_;  ///< of these ranks a supervisor before has lost something
  std::vector<Instant> last_taken_;
  std::uint64_t taken_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t synced_ = 0;
  Instant last_written_{0};
  std::deque<Piece> waiting_;  ///< the first one is being written
  Instant first_since_{0};
  std::size_t abandoned_ = 0;  ///< of those, from the first on: they count as kept already
  bool is_end_near_ = false;
  bool has_given_up_ = false;
  std::map<int, int> ended_;    ///< by trial, its last attempt that has
  std::map<int, int> hurried_;  ///< up to these nothing is waited for while the disk hangs
};

/// The journal of a task on a disk that is slow now and then, and may fill up.
struct FakeDisk {
  std::vector<std::string> entries = {};
  std::size_t durable = 0;  ///< of the entries
};

/// Writes into it for one supervisor.
class FakeJournal final : public Journal {
 public:
  FakeJournal(VirtualTime& time, Chance& chance, MortalProcess& supervisor,
              const Scenario& scenario, FakeDisk& disk)
      : time_(time),
        chance_(chance),
        supervisor_(supervisor),
        scenario_(scenario),
        disk_(disk),
        appended_(disk.entries),
        next_(disk.entries.size()) {}

  void append(std::string entry, bool durable,
              std::function<void(Result<void>)> on_written) override;
  void look(std::function<void()> then) override;
  bool is_displaced() const override { return disk_.entries.size() != next_; }
  /// What was to be written, whether or not it was.
  const std::vector<std::string>& appended() const { return appended_; }
  bool has_failed() const { return has_failed_; }

 private:
  Result<void> write(const std::string& entry, bool durable);

  VirtualTime& time_;
  Chance& chance_;
  MortalProcess& supervisor_;
  const Scenario& scenario_;
  FakeDisk& disk_;
  std::vector<std::string> appended_;
  std::size_t next_;  ///< the number of the next entry that it writes
  Instant free_at_{0};
  bool has_failed_ = false;
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
