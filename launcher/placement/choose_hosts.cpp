// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/choose_hosts.hpp"

#include "launcher/placement/policies.hpp"

namespace train {
namespace {

// Workers that are all alike, on hosts that have nothing else of the trial.
class Chooser {
 public:
  Chooser(const std::vector<Room>& rooms, int workers) : rooms_(rooms), workers_(workers) {}

  std::optional<WorkerCounts> on_one() const { return on_one_host(rooms_, workers_); }
  std::optional<WorkerCounts> on_fewest() const { return packed(rooms_, workers_); }
  std::optional<WorkerCounts> spread(int per_host) const {
    return spread_out(rooms_, workers_, per_host);
  }
  std::optional<WorkerCounts> on_whole(bool allow_heterogeneous) const {
    const WholeHosts hosts = whole_hosts(rooms_);
    if (auto counts = on_equal_hosts(hosts, rooms_.size(), workers_)) return counts;
    if (allow_heterogeneous) return on_mixed_hosts(hosts, rooms_.size(), workers_);
    return std::nullopt;
  }

 private:
  const std::vector<Room>& rooms_;
  int workers_;
};

}  // namespace

PlacementRule rule_of(const ExperimentConfig& experiment) {
  return {.policy = experiment.placement,
          .is_single_node = experiment.is_single_node,
          .allow_heterogeneous = experiment.allow_heterogeneous,
          .has_trainer = !experiment.trainer.empty()};
}

std::optional<std::vector<int>> choose_hosts(const std::vector<Room>& rooms, int workers,
                                             const PlacementRule& rule) {
  if (rule.has_trainer) return beside_trainer(rooms, workers, rule);
  return laid_by(rule, workers, Chooser(rooms, workers));
}

}  // namespace train
