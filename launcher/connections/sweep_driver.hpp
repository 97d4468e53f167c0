// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/connections/host_question.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/ports/transport.hpp"
#include "launcher/talks/sweep_report.hpp"

namespace train {

/// A host where the agent `key` may have been killed.
struct AbandonedHost {
  Host host;
  std::string key;
};

/// The summary of the answers of all hosts.
enum class SweepVerdict {
  clean,    ///< nothing is left
  busy,     ///< an agent is still there, and ends its ranks by itself
  unclear,  ///< a host did not answer, or a process could not be killed
};
SweepVerdict verdict_of(const std::vector<Result<SweepReport>>& answers);

/// The epoch for the goodbye to agents of a task that is over: no supervisor follows.
constexpr std::uint64_t last_epoch = std::uint64_t{1} << 62;

/// How living agents are told to stop their ranks, with their grace, and to leave.
struct Goodbye {
  /// Higher than that of every supervisor that the agents may have heard of.
  std::uint64_t epoch = 0;
  /// Higher than those that another process used with the same epoch.
  std::uint64_t first_connection = 1;
};

/// Asks hosts, in parallel and over new connections, to end what a dead agent has left there
/// (`AgentCall::Verb::sweep`), and collects their answers. With a `Goodbye`, a living agent is told
/// to leave, and its host is asked again once the agent has left.
class SweepDriver {
 public:
  /// How the world is reached.
  struct Ports {
    Timers& timers;
    Transport& transport;
  };

  /// A host that has not answered `limit` after `start` is not waited for. `on_over` comes once,
  /// from the ports and never from inside `start`: when all hosts have answered, or at the limit.
  /// What the ports refer to must outlive the driver.
  SweepDriver(Ports ports, std::vector<AbandonedHost> hosts, nanoseconds limit,
              std::function<void()> on_over, std::optional<Goodbye> goodbye = {});
  SweepDriver(const SweepDriver&) = delete;
  SweepDriver& operator=(const SweepDriver&) = delete;

  /// Begins to reach the hosts. To be called once.
  void start();
  /// The user does not wait for missing answers: calls `on_over` now, from inside this call.
  void cut_short();
  /// The answers are no longer needed: `on_over` never comes.
  void forget();

  /// In the order of the hosts; final once the sweep is over. An error is of class `host` or
  /// `missing`: the host cannot be reached, or does not answer in time.
  const std::vector<Result<SweepReport>>& answers() const { return answers_; }

 private:
  struct Question {
    std::unique_ptr<HostQuestion> question;
    std::unique_ptr<HostLink> goodbye;
    bool is_answered = false;
    std::uint64_t goodbyes = 0;  ///< how often the agent was told to leave
    std::unique_ptr<Subscription> next_step;
  };

  void ask(std::size_t host);
  void reported(std::size_t host, Result<SweepReport> what);
  void send_goodbye(std::size_t host);
  void later(std::size_t host, nanoseconds wait, std::function<void()> step);
  void answer(std::size_t host, Result<SweepReport> what);
  void end();

  Ports ports_;
  std::vector<AbandonedHost> hosts_;
  nanoseconds limit_;
  std::function<void()> on_over_;
  std::optional<Goodbye> goodbye_;
  std::vector<Result<SweepReport>> answers_;
  std::vector<Question> questions_;
  std::size_t open_;  ///< hosts that have not answered
  bool is_over_ = false;
  std::unique_ptr<Subscription> deadline_;
};

}  // namespace train
