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

/// How one task gets what it wants of all its hosts, or nothing, while others do the same: each
/// host gives all of its own part or none, so two tasks may each have some of what both want.
///
/// Of tasks that meet so, the one with the lower id keeps what it has and tries for the rest; the
/// others let everything go and try again later. There is always a lowest one, so nobody waits in a
/// circle, and none of them is left without anything for long. Who runs already is not waited for,
/// nor who waits in the line of a host and comes first there.
class LeaseRound {
 public:
  struct Timing {
    milliseconds pause{25};  ///< before the next try for what is lacking; then twice that ...
    milliseconds longest_pause{500};
    milliseconds back_off{100};  ///< before everything is tried again; then twice that ...
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
  /// Who keeps the task from what it wants, for good.
  struct Conflict {
    int host = 0;
    std::vector<LeaseHolder> in_the_way;
  };

  LeaseRound(std::string task, int hosts, Timing timing);
  LeaseRound(std::string task, int hosts) : LeaseRound(std::move(task), hosts, Timing()) {}

  /// This host wants nothing; or it tries for the first time by itself, and will answer.
  void needs_nothing(int host) { become(at(host), State::needless); }
  void expect(int host, Instant now);
  /// Whether an answer of this host is due.
  bool is_expected(int host) const {
    return hosts_[static_cast<std::size_t>(host)].answers_due > 0;
  }
  bool is_any_expected() const { return answers_due_ > 0; }

  /// What a host has answered; `is_expected`. Nobody in the way: all is held there.
  void answered(int host, std::vector<LeaseHolder> in_the_way, Instant now);
  /// Time has passed.
  void tick(Instant now);
  std::optional<Instant> next_deadline() const;

  /// What hosts are to be told, in order.
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  /// Once: a conflict that does not end by itself.
  std::optional<Conflict> take_conflict() { return std::exchange(conflict_, std::nullopt); }
  bool holds_all() const { return lacking_ == 0; }
  /// Once each: hosts that have not answered in time. No answer of theirs is due any more.
  std::vector<int> take_silent() { return std::exchange(silent_, {}); }

 private:
  enum class State { unknown, needless, trying, holds, blocked, dropped };
  struct OfHost {
    State state = State::unknown;
    int answers_due = 0;
    Instant answer_by{0};   ///< while answers are due
    int stale_answers = 0;  ///< of those, which come too late to count
    milliseconds pause{0};
    std::optional<Instant> try_at;
    std::vector<LeaseHolder> in_the_way;
  };

  OfHost& at(int host) { return hosts_[static_cast<std::size_t>(host)]; }
  void become(OfHost& host, State state);
  void expect_no_more(OfHost& host);
  void try_later(int host, Instant when);
  void try_no_more(OfHost& host);
  void check(int host, Instant now);
  void take(int host, Instant now);
  void give_way(Instant now);
  bool is_elder(const std::vector<LeaseHolder>& others) const;

  const std::string task_;
  const Timing timing_;
  std::vector<OfHost> hosts_;
  HostChecks checks_;
  int lacking_;          ///< hosts that do not hold what they are to hold
  int answers_due_ = 0;  ///< of all hosts
  int tries_ = 0;        ///< hosts that are to try later
  std::optional<Instant> give_up_at_;
  std::optional<Instant> all_again_at_;
  milliseconds back_off_;
  std::optional<Conflict> conflict_;
  std::vector<Action> actions_;
  std::vector<int> silent_;
};

}  // namespace train
