// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/connections/host_checks.hpp"
#include "launcher/lease/lease.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// Takes the leases that one task wants on all its hosts, or none, while other tasks do the same.
/// Each host gives all of its own part or none, so two tasks may each hold some of what both want.
///
/// Of such tasks, the one with the lower id keeps what it has and tries for the rest; the others
/// release everything and try again later. There is always a lowest id, so there is no deadlock,
/// and no task starves for long. The round does not wait for a task that already runs, nor for one
/// that is first in the line of a host: these are conflicts.
class LeaseRound {
 public:
  struct Timing {
    milliseconds pause{25};  ///< before the next try for missing leases; doubled each time
    milliseconds longest_pause{500};
    milliseconds back_off{100};  ///< before everything is tried again; doubled each time
    milliseconds longest_back_off{1'000};
    milliseconds answer_limit{30'000};  ///< for a host to answer
    milliseconds limit{15'000};         ///< from the first conflict on
  };
  enum class Step { take, drop };
  struct Action {
    Step step = Step::take;
    int host = 0;
    bool operator==(const Action&) const = default;
  };
  /// The holders that keep the task from its leases for good.
  struct Conflict {
    int host = 0;
    std::vector<LeaseHolder> blockers;
  };

  LeaseRound(std::string task, int hosts, Timing timing);
  LeaseRound(std::string task, int hosts) : LeaseRound(std::move(task), hosts, Timing()) {}

  /// This host has no leases to take.
  void exempt(int host) { become(at(host), State::exempt); }
  void expect(int host, Instant now);
  /// Whether an answer of this host is due.
  bool is_expected(int host) const {
    return hosts_[static_cast<std::size_t>(host)].answers_due > 0;
  }
  bool is_any_expected() const { return answers_due_ > 0; }

  /// The answer of a host; only if `is_expected`. `blockers` empty: all is held there.
  void answered(int host, std::vector<LeaseHolder> blockers, Instant now);
  /// Time has passed.
  void tick(Instant now);
  std::optional<Instant> next_deadline() const;

  /// What hosts are to be told, in order.
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  /// Returned once: a conflict that does not end by itself.
  std::optional<Conflict> take_conflict() { return std::exchange(conflict_, std::nullopt); }
  bool holds_all() const { return lacking_ == 0; }
  /// Returned once each: hosts that have not answered in time. No answer of theirs is due any more.
  std::vector<int> take_silent() { return std::exchange(silent_, {}); }

 private:
  enum class State { unknown, exempt, trying, holds, blocked, dropped };
  struct OfHost {
    State state = State::unknown;
    int answers_due = 0;
    Instant answer_by{0};   ///< while answers are due
    int stale_answers = 0;  ///< of those, answers that come too late to count
    milliseconds pause{0};
    std::optional<Instant> try_at;
    std::vector<LeaseHolder> blockers;
  };

  OfHost& at(int host) { return hosts_[static_cast<std::size_t>(host)]; }
  void become(OfHost& host, State state);
  void expect_no_more(OfHost& host);
  void try_later(int host, Instant when);
  void try_no_more(OfHost& host);
  void check(int host, Instant now);
  void take(int host, Instant now);
  void release_for_elder(Instant now);
  bool is_elder(const std::vector<LeaseHolder>& others) const;

  const std::string task_;
  const Timing timing_;
  std::vector<OfHost> hosts_;
  HostChecks checks_;
  int lacking_;          ///< hosts that do not hold their leases yet
  int answers_due_ = 0;  ///< of all hosts
  int tries_ = 0;        ///< hosts that will try later
  std::optional<Instant> give_up_at_;
  std::optional<Instant> all_again_at_;
  milliseconds back_off_;
  std::optional<Conflict> conflict_;
  std::vector<Action> actions_;
  std::vector<int> silent_;
};

}  // namespace train
