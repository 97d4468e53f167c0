// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/wire/rank_usage.hpp"

namespace train {

/// Of the talk below. A supervisor that says a higher one may mean other things by the same words.
inline constexpr int control_version = 1;

/// Longest line of one who asks.
inline constexpr std::size_t longest_control_request = 4u << 10;
/// Longest line of a supervisor: the status of thousands of hosts and ranks.
inline constexpr std::size_t longest_control_answer = 16u << 20;
/// No trial that is asked about has a greater number.
inline constexpr int highest_trial = 999'999'999;

/// What a supervisor says first on every connection.
struct ControlGreeting {
  int version = control_version;
  std::string task_id;
  std::int64_t pid = 0;
  std::string program;  ///< version of the program, for people
  /// Whether `Lend` may be asked: one that does not know it ends the connection.
  bool takes_credentials = false;
  bool kills_trials = false;  ///< likewise `KillTrial`

  bool operator==(const ControlGreeting&) const = default;
};

/// What may be asked of the supervisor of a task.
namespace control_request {
/// What the signal does that is sent to the supervisor: the first stops all ranks, a further one
/// does so sooner.
struct Stop {
  int signal = 0;  ///< its number
  bool operator==(const Stop&) const = default;
};
/// How everything is now.
struct Status {
  bool operator==(const Status&) const = default;
};
/// That hosts be logged in to with what the terminal of the one who asks has.
struct Lend {
  std::string agent_socket;    ///< ssh-agent's; empty: none
  std::string kerberos_cache;  ///< as $KRB5CCNAME has it; empty: none
  bool operator==(const Lend&) const = default;
};
/// That one trial of a search be ended, which goes on without it.
struct KillTrial {
  int trial = 0;  ///< its number, at most `highest_trial`
  bool operator==(const KillTrial&) const = default;
};
}  // namespace control_request

using ControlRequest = std::variant<control_request::Stop, control_request::Status,
                                    control_request::Lend, control_request::KillTrial>;

/// How a task is now, as its supervisor sees it.
struct ControlStatus {
  /// One host of the task. The words are those of the state tables of `run/`, or begin with "out of
  /// reach".
  struct HostStatus {
    std::string name;
    std::string state;
    bool operator==(const HostStatus&) const = default;
  };

  int attempt = 0;                      ///< restarts before the one that runs, or is waited for
  int max_restarts = 0;                 ///< at most so many
  std::string phase;                    ///< of that attempt: a word of `attempt_states`
  int ranks_left = 0;                   ///< of that attempt, whose end is not known
  std::vector<HostStatus> hosts;        ///< in rank order
  std::vector<UsageOfRank> usage = {};  ///< of ranks of which it is known

  bool operator==(const ControlStatus&) const = default;
};

/// The answer to one request.
struct ControlAnswer {
  std::string refused;  ///< why nothing was done; empty: it was done
  ControlStatus status;
  // Of `Lend`, names of hosts:
  std::vector<std::string> served = {};   ///< that are logged in to with what was lent from now on
  std::vector<std::string> waiting = {};  ///< that take nothing of what there is
  /// Of `KillTrial`: how that trial is now, a word of `trial_states`; empty where there is none.
  std::string trial_state = {};

  bool operator==(const ControlAnswer&) const = default;
};

/// One line each, its end included.
std::string encode_greeting(const ControlGreeting& greeting);
std::string encode_control_request(const ControlRequest& request);
std::string encode_answer(const ControlAnswer& answer);
/// As `now` of config_schema/fields/task.schema.json, which has nothing of what ranks use.
std::string control_status_json(const ControlStatus& status);

/// The lines without their ends. What is none of ours is of class `host`.
Result<ControlGreeting> decode_greeting(std::string_view line);
Result<ControlRequest> decode_control_request(std::string_view line);
Result<ControlAnswer> decode_answer(std::string_view line);

}  // namespace train
