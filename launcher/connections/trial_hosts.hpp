// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>
#include <vector>

namespace train {

/// Maps the hosts of a trial to those of its task. The hosts of a trial are numbered from 0, as its
/// node ranks.
class TrialHosts {
 public:
  static constexpr int elsewhere = -1;

  /// `of_task`: by node rank, the host of the task; all different, each less than `count`.
  TrialHosts(std::vector<int> of_task, int count)
      : of_task_(std::move(of_task)), nodes_(static_cast<std::size_t>(count), elsewhere) {
    for (std::size_t node = 0; node < of_task_.size(); ++node)
      nodes_[static_cast<std::size_t>(of_task_[node])] = static_cast<int>(node);
  }
  /// A trial on all `count` hosts, in their order.
  static TrialHosts all(int count) {
    std::vector<int> hosts(static_cast<std::size_t>(count));
    std::iota(hosts.begin(), hosts.end(), 0);
    return {std::move(hosts), count};
  }

  int count() const { return static_cast<int>(of_task_.size()); }
  int of_task(int node) const { return of_task_[static_cast<std::size_t>(node)]; }
  /// `elsewhere`: the trial is not on this host.
  int node_of(int host) const { return nodes_[static_cast<std::size_t>(host)]; }
  bool is_on(int host) const { return node_of(host) != elsewhere; }
  const std::vector<int>& of_task() const { return of_task_; }

 private:
  std::vector<int> of_task_;
  std::vector<int> nodes_;  ///< by host of the task
};

}  // namespace train
