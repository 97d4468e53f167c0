// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"

namespace train {

/// Samples per optimiser step of each worker; the workers in rank order.
struct BatchShares {
  std::vector<std::uint64_t> sizes;
  std::uint64_t sum = 0;        ///< the real sum of the workers' sizes
  std::uint64_t effective = 0;  ///< sum x aggregation_frequency
  std::uint64_t per_slot = 0;   ///< floor(global / slots); per worker if there are no slots

  bool operator==(const BatchShares&) const = default;
};

/// Why this many workers cannot share the experiment's batch: fewer samples than workers, or a
/// remainder although `batch_remainder: error` allows none (a weighted split has none). Empty if
/// they can, or if there is no batch.
std::string batch_obstacle(const ExperimentConfig& experiment, int workers);

/// Splits `*experiment.global_batch_size` over the workers; `weights` has the weight of each
/// worker's host (one entry per worker, > 0). `batch_obstacle` must be empty for that many workers.
/// - even: floor(global / workers) each; the remainder is dropped, or the first ranks get one more;
/// - weighted: by largest remainder, ties to the lower rank, each at least 1; sums to the batch.
BatchShares split_batch(const ExperimentConfig& experiment, const std::vector<double>& weights);

}  // namespace train
