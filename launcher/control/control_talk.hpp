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

/// Version of the protocol below. The same words of a higher version may have another meaning.
inline constexpr int control_version = 1;

/// Longest line of a client.
inline constexpr std::size_t longest_control_request = 4u << 10;
/// Longest line of a supervisor: the status of thousands of hosts and ranks.
inline constexpr std::size_t longest_control_answer = 16u << 20;
/// The highest number of a trial in a request.
inline constexpr int highest_trial = 999'999'999;

/// The first line of a supervisor on every connection.
struct ControlGreeting {
  int version = control_version;
  std::string task_id;
  std::int64_t pid = 0;
  std::string program;  ///< version of the program, for people

  bool operator==(const ControlGreeting&) const = default;
};

/// The requests to the supervisor of a task.
namespace control_request {
/// The same as the signal to the supervisor: the first one stops all ranks, further ones shorten
/// the time for that.
struct Stop {
  int signal = 0;  ///< its number
  bool operator==(const Stop&) const = default;
};
/// Returns the current status.
struct Status {
  bool operator==(const Status&) const = default;
};
/// Use the credentials of the client's terminal to log in to hosts.
struct Lend {
  std::string agent_socket;    ///< ssh-agent's; empty: none
  std::string kerberos_cache;  ///< as $KRB5CCNAME has it; empty: none
  bool operator==(const Lend&) const = default;
};
/// End one trial of a search; the search goes on without it.
struct KillTrial {
  int trial = 0;  ///< its number, at most `highest_trial`
  bool operator==(const KillTrial&) const = default;
};
}  // namespace control_request

using ControlRequest = std::variant<control_request::Stop, control_request::Status,
                                    control_request::Lend, control_request::KillTrial>;

/// The current state of a task, as its supervisor sees it.
struct ControlStatus {
  /// One host of the task. `state` is a name from the state tables of `run/`, or begins with "out
  /// of reach".
  struct HostStatus {
    std::string name;
    std::string state;
    bool operator==(const HostStatus&) const = default;
  };

  int attempt = 0;                      ///< number of the attempt that runs or is waited for
  int max_restarts = 0;                 ///< at most so many
  std::string phase;                    ///< of that attempt: a name from `attempt_states`
  int ranks_left = 0;                   ///< of that attempt: ranks whose end is not known
  std::vector<HostStatus> hosts;        ///< in rank order
  std::vector<UsageOfRank> usage = {};  ///< of ranks whose usage is known

  bool operator==(const ControlStatus&) const = default;
};

/// The answer to one request.
struct ControlAnswer {
  std::string refused;  ///< why nothing was done; empty: it was done
  ControlStatus status;
  // For `Lend`, names of hosts:
  std::vector<std::string> served = {};   ///< hosts that use the lent credentials from now on
  std::vector<std::string> waiting = {};  ///< hosts that had refused all credentials before
  /// For `KillTrial`: the state of that trial, a name from `trial_states`; empty: there is no such
  /// trial.
  std::string trial_state = {};

  bool operator==(const ControlAnswer&) const = default;
};

/// Encode one line each, with its newline.
std::string encode_greeting(const ControlGreeting& greeting);
std::string encode_control_request(const ControlRequest& request);
std::string encode_answer(const ControlAnswer& answer);
/// The `now` object of config_schema/fields/task.schema.json, which has no usage of ranks.
std::string control_status_json(const ControlStatus& status);

/// Decode lines without their newline. Malformed lines are of class `host`.
Result<ControlGreeting> decode_greeting(std::string_view line);
Result<ControlRequest> decode_control_request(std::string_view line);
Result<ControlAnswer> decode_answer(std::string_view line);

}  // namespace train
