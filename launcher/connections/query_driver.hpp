// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/connections/host_question.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/talks/host_report.hpp"

namespace train {

/// A question to a host over a connection of its own.
struct HostQuery {
  AgentCall call;
  std::size_t longest = 0;   ///< limit of the answered line, in bytes
  std::string request = {};  ///< what the host is sent first
};

/// Asks what the host has and who holds it: the answer is a HostReport.
HostQuery inspection_query(const Host& host);

/// Asks all hosts in parallel, and collects the lines that they answer.
class QueryDriver {
 public:
  /// How the world is reached.
  struct Ports {
    Timers& timers;
    Transport& transport;
  };

  /// A host that has not answered `limit` after `start` is not waited for. `on_over` comes once,
  /// from the ports and never from inside `start`: when all hosts have answered, or at the limit.
  /// What the ports refer to must outlive the driver.
  QueryDriver(Ports ports, std::vector<Host> hosts,
              std::function<HostQuery(const Host&)> question_of, nanoseconds limit,
              std::function<void()> on_over);
  QueryDriver(const QueryDriver&) = delete;
  QueryDriver& operator=(const QueryDriver&) = delete;

  /// Begins to reach the hosts. To be called once.
  void start();

  /// A line without its end, or an overlong beginning of one, and when it came.
  struct Answer {
    std::string line;
    Instant at{0};
  };
  /// In the order of the hosts; final once the round is over. An error is of class `host` or
  /// `missing`: the host cannot be reached, or does not answer in time.
  const std::vector<Result<Answer>>& answers() const { return answers_; }

 private:
  void reach_limit();
  void answer(std::size_t host, Result<std::string_view> what);
  void end();

  Ports ports_;
  std::vector<Host> hosts_;
  std::function<HostQuery(const Host&)> question_of_;
  nanoseconds limit_;
  std::function<void()> on_over_;
  std::vector<Result<Answer>> answers_;
  std::vector<std::unique_ptr<HostQuestion>> questions_;
  std::size_t open_;         ///< hosts that have not answered
  bool was_asking_ = false;  ///< at the last check of the limit
  bool is_over_ = false;
  std::unique_ptr<Subscription> deadline_;
};

}  // namespace train
