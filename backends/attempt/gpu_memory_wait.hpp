// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/process/agent_means.hpp"
#include "config_schema/experiment/experiment_config.hpp"

namespace train {

/// Waits until the memory of GPUs is free, which may take longer than the end of the processes that
/// had it. A driver that does not say how much is in use is not waited for.
class GpuMemoryWait {
 public:
  /// Their UUIDs; called beside the loop.
  using Gpus = std::function<std::vector<std::string>()>;
  /// Comes once, from the loop, and never from inside `begin`: nothing, or what is still in use at
  /// the limit.
  using Then = std::function<void(const std::optional<Error>& still_in_use)>;
  struct Waiting {
    std::string what;  ///< "3.0 of 40.0 GiB of GPU 1 are in use"
    Instant since{0};
  };

  GpuMemoryWait(Loop& loop, AskDevices ask);

  void begin(const GpuWait& rule, Gpus gpus, Then then);
  /// Nobody needs them any more: `then` comes at once, from inside this.
  void give_up();
  /// What is waited for, once that is known.
  const std::optional<Waiting>& current() const { return waiting_; }

 private:
  void ask();
  void handle_answer(const std::string& in_use);
  void end(const std::optional<Error>& still_in_use);

  Loop& loop_;
  AskDevices ask_;
  GpuWait rule_;
  Gpus gpus_;
  Then then_;  ///< while it waits
  Instant begun_{0};
  std::optional<Waiting> waiting_;
  milliseconds pause_{0};
  std::unique_ptr<Subscription> timer_;
  std::unique_ptr<Background> work_;  ///< a driver that hangs is left alone in it
};

}  // namespace train
