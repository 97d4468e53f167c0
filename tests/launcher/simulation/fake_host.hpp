// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/agent/agent.hpp"
#include "launcher/frames/frame.hpp"
#include "tests/launcher/simulation/kept_logs.hpp"
#include "tests/launcher/simulation/one_way.hpp"

namespace train::simulation {

/// What a rank prints from `place` on, at most `size` bytes of it and at least one, so that output
/// can be checked without keeping it. No two streams and no two ranks near each other print alike,
/// and nothing repeats within a pipe's length.
std::string_view printed_bytes(int rank, std::size_t stream, std::uint64_t place,
                               std::uint64_t size);

/// What a rank appends to its metrics file: lines of this length, which say the rank and the number
/// of the line.
constexpr std::uint64_t report_size = 22;
std::string report_line(int rank, std::uint64_t number);
/// From `place` on.
std::string report_bytes(int rank, std::uint64_t place, std::uint64_t size);

/// A process of the table. Streams: 0 is stdout, 1 stderr.
struct FakeProcess {
  const RankScript* script = nullptr;
  bool announced = false;  ///< RankStarted was told
  bool alive = false;
  bool ended_by_itself = false;
  bool dying = false;  ///< was killed, and dies soon
  bool stuck = false;  ///< was killed and did not die
  bool reported = false;
  bool orphan_alive = false;
  bool blocked = false;  ///< in a write to a full pipe
  bool read_planned = false;
  int prints_left = 0;
  std::optional<int> code;
  std::optional<int> signal;
  Instant began{0};  ///< virtual time
  Instant died{0};   ///< likewise
  int measured = 0;  ///< how often, of late
  std::array<std::uint64_t, 2> printed{};
  std::array<std::uint64_t, 2> read{};
  std::uint64_t appended = 0;       ///< to its metrics file
  std::uint64_t appended_read = 0;  ///< of that
  bool metrics_planned = false;     ///< to be read

  std::uint64_t in_pipes() const { return printed[0] + printed[1] - read[0] - read[1]; }
};

/// What a rank uses that has run for so long, in these worlds.
inline RankUsage usage_after(int rank, nanoseconds time) {
  const auto ms = std::chrono::floor<milliseconds>(time);
  return {ms, {}, static_cast<std::uint64_t>(rank + 1) << 20};
}

/// Whose bytes a chunk counts as.
inline RankOfAttempt source_of(const OutputChunk& chunk) {
  return {chunk.of, chunk.rank, chunk.stream == OutputStream::metrics};
}

class FakeHost;

/// What all hosts share: to see that none starts early, and what its ranks must be told.
struct Readiness {
  int hosts = 0;  ///< that the first attempt has
  /// By attempt from which it holds: the first rank of each host that has ranks.
  std::map<int, std::map<int, int>> first_ranks = {};
  const std::deque<FakeHost>* all = nullptr;
  std::map<AttemptId, std::set<int>> ready = {};  ///< hosts that were, in each attempt
  std::map<AttemptId, std::map<int, std::vector<int>>> ports = {};  ///< that each host holds
};

/// What the launcher reaches a host by.
inline std::string address_of(int host) { return "10.0.0." + std::to_string(host + 1); }

/// A host: the real Agent, driven as its process drives it, over a table of fake processes.
class FakeHost {
 public:
  FakeHost(VirtualTime& time, Chance& chance, const Scenario& scenario, int index,
           Readiness& readiness, const KeptLogs& logs, std::vector<std::string>& complaints);

  /// A connection is open; frames of the agent go into `to_supervisor`.
  LinkId connect(OneWay& to_supervisor);
  /// Starts another agent where none is left.
  void revive();
  void receive(LinkId link, std::string_view bytes);
  void link_closed(LinkId link);

  const Agent& agent() const { return agent_; }
  bool reachable() const;
  /// Crashed, or frozen for good: it does nothing any more, and nothing can be said of it.
  bool dead() const;
  bool has_others_than(AttemptId of) const;
  bool frozen() const { return script_.has_fault(HostFault::freeze, time_.now()); }
  bool was_connected() const { return last_link_ > 0; }
  /// What it says of itself when it is asked for an agent that is not there.
  std::string boot_id() const { return dead() || is_reborn_ ? "another boot" : "boot"; }
  std::optional<Instant> gone_at() const { return gone_at_; }
  /// Of the newest attempt; null where the rank was not started.
  const FakeProcess* process(int rank) const;
  /// Of this one.
  const FakeProcess* process(const RankOfAttempt& id) const;
  /// All that there ever were.
  const std::map<RankOfAttempt, FakeProcess>& processes() const { return processes_; }
  /// When the agent first heard that its ranks are to stop, or failed.
  std::optional<Instant> stop_heard_at() const { return stop_heard_at_; }
  /// Processes and orphans that live, but for those that nothing could kill.
  int alive() const;
  /// Nothing could kill some of its processes.
  bool has_stuck() const;

 private:
  const std::map<int, int>& places(AttemptId of) const;
  int first_rank(AttemptId of) const;
  struct Link;
  void later(nanoseconds delay, std::function<void()> what);
  void when_awake(std::function<void()> what);
  void meet_troubles();
  void blocked_for(nanoseconds time, AttemptId of);
  Instant clock() const { return script_.clock(time_.now()); }
  void feed(const AgentEvent& event);
  void arm_timer();
  void heard(LinkId link, std::string_view bytes);
  void heard(LinkId link, const Frame& frame);
  void check(const Link& link, const message::Acknowledge& told);
  void send(std::string bytes);
  void note_stop();
  void die();

  void perform(const agent_action::UseLink& action);
  void perform(const agent_action::CloseLink& action);
  void perform(const agent_action::SetFence&) {}
  void perform(const agent_action::ProbeHosts& action);
  void perform(const agent_action::TakeLeases& action);
  void perform(const agent_action::DropLeases&) {}
  void perform(const agent_action::EndLeases& action);
  void perform(const agent_action::ConfirmLeases&) {}
  void perform(const agent_action::WatchGpus&) {}
  void perform(const agent_action::LookAtRanks& action);
  void perform(const agent_action::SendMessage& action);
  void perform(const agent_action::SendOutput& action);
  void perform(const agent_action::Spool& action);
  void perform(const agent_action::FindContext& action);
  void perform(const agent_action::TakeContext& action);
  void perform(const agent_action::CheckHost& action);
  void perform(const agent_action::StartRank& action);
  void perform(const agent_action::ReleasePorts&) {}
  void perform(const agent_action::MakeStopFile& action);
  void perform(const agent_action::TerminateRank& action);
  void perform(const agent_action::KillTree& action);
  void perform(const agent_action::ForgetAttempt& action);
  void perform(const agent_action::PauseReading& action) { paused_.insert(action.of); }
  void perform(const agent_action::ResumeReading& action);
  void perform(const agent_action::Leave& action);

  std::optional<SpoolAnswer> spool(const spool_work::Open& work);
  std::optional<SpoolAnswer> spool(const spool_work::Write& work);
  std::optional<SpoolAnswer> spool(const spool_work::Read& work);
  std::optional<SpoolAnswer> spool(const spool_work::Release& work);
  std::optional<SpoolAnswer> spool(const spool_work::Clear& work);
  void check_command(const RankOfAttempt& id);
  void live(const RankOfAttempt& id);
  void end(const RankOfAttempt& id, std::optional<int> code, std::optional<int> signal);
  void plan_read(const RankOfAttempt& id);
  void read(const RankOfAttempt& id);
  void read_piece(const RankOfAttempt& id);
  void drain(const RankOfAttempt& id);
  void append_metrics(const RankOfAttempt& id);
  void plan_metrics(const RankOfAttempt& id);
  void read_metrics(const RankOfAttempt& id);
  void report_end(const RankOfAttempt& id);
  void measure(const RankOfAttempt& id);
  void check(Link& link, const message::Ping& ping) const;
  void check(const message::Usage& told);
  void kill(const RankOfAttempt& id, FakeProcess& process);
  bool has_unreported(AttemptId of) const;
  void tree_killed_if_so(AttemptId of);
  void kill_given_up(AttemptId of);
  void flood(const RankOfAttempt& id);

  VirtualTime& time_;
  Chance& chance_;
  const Scenario& scenario_;
  int index_;
  const HostScript& script_;
  Readiness& readiness_;
  const KeptLogs& logs_;
  std::vector<std::string>& complaints_;
  Agent agent_;
  struct Link {
    OneWay* to_supervisor = nullptr;
    /// Of each chunk that was sent on it, from number 1: whose it is, and where it ends.
    std::vector<std::pair<RankOfAttempt, std::uint64_t>> sent = {};
    FrameDecoder decoder{FrameSender::launcher};
    bool has_spoken = false;
    std::uint64_t epoch = 0;                    ///< of its Attach
    std::optional<Instant> told_usage_at = {};  ///< and nobody has said that it has arrived
  };
  std::map<LinkId, Link> links_;
  LinkId last_link_ = 0;
  LinkId used_ = 0;
  std::uint64_t epoch_ = 0;  ///< the highest that it was used with
  int births_ = 0;           ///< of agents, after the first
  bool is_reborn_ = false;   ///< after a crash
  std::map<RankOfAttempt, FakeProcess> processes_;
  AttemptId newest_;                 ///< that was to be prepared
  std::set<AttemptId> has_started_;  ///< those of which a rank was started
  std::uint64_t context_taken_ = 0;
  std::set<AttemptId> stop_files_;
  std::set<AttemptId> paused_;
  std::set<AttemptId> killing_;
  std::map<std::uint64_t, std::string> spool_;  ///< by offset
  Instant spool_free_at_{0};
  std::optional<Instant> armed_;
  std::optional<Instant> gone_at_;
  std::optional<Instant> stop_heard_at_;
};

}  // namespace train::simulation
