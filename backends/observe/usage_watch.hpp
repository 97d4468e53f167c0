// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/observe/usage_meter.hpp"
#include "backends/posix/child.hpp"

namespace train {

/// Measures the usage of ranks while they run, beside the loop: soon after their start, then every
/// five seconds, and less often if that would take more than a twentieth of a percent of a CPU
/// (when they have thousands of processes and threads).
class UsageWatch {
 public:
  using OnMeasured = std::function<void(std::vector<UsageOfRank> ranks)>;

  /// `on_measured` is called from the loop.
  UsageWatch(Loop& loop, OnMeasured on_measured)
      : loop_(loop),
        on_measured_(std::move(on_measured)),
        background_(loop, Background::Idle::goes) {}

  /// Like `UsageMeter::count_cgroup`. Call it before the first rank is watched.
  void count_cgroup(std::string path) { meter_->count_cgroup(std::move(path)); }
  /// Starts to measure this rank, whose process is `pid`.
  void watch(int rank, int pid);
  /// Call it when the rank has ended. Returns its total usage: the larger of the kernel's account
  /// in `status` and the measured values. `nullopt` if neither is known.
  std::optional<RankUsage> end(int rank, const ExitStatus& status);

 private:
  void look_later();
  void look();

  Loop& loop_;
  OnMeasured on_measured_;
  const std::shared_ptr<UsageMeter> meter_ = std::make_shared<UsageMeter>();  ///< the thread's
  std::map<int, int> rank_of_process_;                                        ///< of ranks that run
  std::map<int, RankUsage> measured_;                                         ///< the last, by rank
  nanoseconds pause_ = std::chrono::seconds(1);
  nanoseconds least_pause_{0};  ///< from the cost of the last look
  bool is_looking_ = false;
  std::unique_ptr<Subscription> next_look_;
  Background background_;
};

}  // namespace train
