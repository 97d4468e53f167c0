// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "launcher/ports/clock.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// How long nothing has come from any rank of a trial, and what is to be done about it. Pure: the
/// owner reports events, and carries out steps. Instants are on the launcher's clock.
class HangWatch {
 public:
  struct Rules {
    milliseconds timeout{0};       ///< `hang_timeout`; 0: a trial may be silent for ever
    milliseconds notice{600'000};  ///< a person is told once of a silence of this length
    /// How long the answers of hosts are waited for. An agent takes 7 s at most.
    milliseconds answer_limit{8'000};
  };
  enum class Step {
    none,
    ask,         ///< call `asked` with the hosts that are asked about heartbeats
    ask_states,  ///< the same, with what each rank does
    tell,        ///< a person is to be told of the silence
    hang,        ///< the trial hangs, `states` are the answers: call `end`
  };

  explicit HangWatch(Rules rules) : rules_(rules) {}

  /// The ranks are told to start, or were found to run.
  void begin(Instant now) { last_ = now; }
  /// The ranks are being stopped: nothing more follows.
  void end();
  /// Something came from a rank, or it cannot be known whether something would have come.
  void progress(Instant now);
  /// For so long until now, nothing could have come from some host: that time does not count.
  void missed(nanoseconds time, Instant now);
  /// Nothing can be decided now: asks, or asks again, not before this.
  void postpone(Instant until);
  /// These hosts are being asked.
  void asked(std::set<int> hosts, Instant now);
  /// The answer of a host, which counts also if it comes late. False: none is waited for.
  bool answered(int host, const message::RanksSeen& seen, Instant now);
  /// Time has passed; call it at `next_deadline` at the latest, and after each answer.
  Step next(Instant now);
  std::optional<Instant> next_deadline() const;
  /// Since when nothing has come.
  nanoseconds silence(Instant now) const { return last_ ? now - *last_ : nanoseconds(0); }
  /// By rank.
  std::map<int, RankState> take_states() { return std::exchange(states_, {}); }

 private:
  struct Question {
    bool is_about_states = false;
    std::set<int> hosts;  ///< that have not answered
    Instant until{0};
  };
  bool is_hang_due(Instant now) const;

  Rules rules_;
  std::optional<Instant> last_;  ///< of progress; nothing: it is not watched
  Instant not_before_{0};        ///< the next question
  bool has_told_ = false;
  std::optional<Question> question_;
  std::map<int, RankState> states_;
};

}  // namespace train
