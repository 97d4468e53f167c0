// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace train {
namespace {

__extension__ using Wide = unsigned __int128;

std::vector<std::uint64_t> split_evenly(std::uint64_t global, std::size_t workers,
                                        BatchRemainder remainder) {
  std::vector<std::uint64_t> sizes(workers, global / workers);
  if (remainder == BatchRemainder::spread)
    for (std::uint64_t i = 0; i < global % workers; ++i) ++sizes[i];
  return sizes;
}

// Converts the weights to whole numbers, so that every machine computes the same split; decimal
// weights of up to six places are exact.
std::vector<std::uint64_t> whole_weights(const std::vector<double>& weights) {
  constexpr double exact_up_to = 1e6;
  constexpr double places = 1e6;
  const double largest = *std::max_element(weights.begin(), weights.end());
  const double factor = largest > exact_up_to ? exact_up_to * places / largest : places;
  std::vector<std::uint64_t> whole;
  whole.reserve(weights.size());
  for (const double weight : weights)
    whole.push_back(std::max<std::uint64_t>(1, std::llround(weight * factor)));
  return whole;
}

std::vector<std::uint64_t> split_by_weight(std::uint64_t global,
                                           const std::vector<double>& weights) {
  const std::vector<std::uint64_t> whole = whole_weights(weights);
  std::vector<std::size_t> order(whole.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return whole[a] < whole[b]; });
  Wide total = std::accumulate(whole.begin(), whole.end(), Wide{0});
  std::vector<std::uint64_t> sizes(whole.size(), 1);
  // The lightest workers, whose share is less than one sample, get one; the others share the rest.
  std::size_t first = 0;
  for (; first < order.size() && Wide{global} * whole[order[first]] < total; ++first) {
    total -= whole[order[first]];
    --global;
  }
  const std::vector<std::size_t> sharing(order.begin() + static_cast<std::ptrdiff_t>(first),
                                         order.end());
  std::uint64_t rest = global;
  for (const std::size_t i : sharing) {
    sizes[i] = static_cast<std::uint64_t>(Wide{global} * whole[i] / total);
    rest -= sizes[i];
  }
  std::vector<std::size_t> by_remainder = sharing;
  std::sort(by_remainder.begin(), by_remainder.end(), [&](std::size_t a, std::size_t b) {
    const Wide left = Wide{global} * whole[a] % total;
    const Wide right = Wide{global} * whole[b] % total;
    return left != right ? left > right : a < b;
  });
  for (std::uint64_t i = 0; i < rest; ++i) ++sizes[by_remainder[i]];
  return sizes;
}

}  // namespace

std::string batch_obstacle(const ExperimentConfig& experiment, int workers) {
  if (!experiment.global_batch_size) return {};
  const std::uint64_t global = *experiment.global_batch_size;
  const auto count = static_cast<std::uint64_t>(workers);
  if (global < count)
    return fmt::format("global_batch_size {} is less than the {} workers: each needs a sample",
                       global, workers);
  const bool is_exact = experiment.batch_split == BatchSplit::weighted || global % count == 0;
  if (experiment.batch_remainder == BatchRemainder::error && !is_exact)
    return fmt::format(
        "global_batch_size {} over {} workers leaves a remainder of {}, and batch_remainder is "
        "'error'",
        global, workers, global % count);
  return {};
}

BatchShares split_batch(const ExperimentConfig& experiment, const std::vector<double>& weights) {
  const std::uint64_t global = experiment.global_batch_size.value_or(0);
  BatchShares shares;
  shares.sizes = experiment.batch_split == BatchSplit::weighted
                     ? split_by_weight(global, weights)
                     : split_evenly(global, weights.size(), experiment.batch_remainder);
  shares.sum = std::accumulate(shares.sizes.begin(), shares.sizes.end(), std::uint64_t{0});
  shares.effective = shares.sum * static_cast<std::uint64_t>(experiment.aggregation_frequency);
  const Quantity slots = experiment.needs.slots * static_cast<std::int64_t>(weights.size());
  shares.per_slot = slots.is_zero()
                        ? global / weights.size()
                        : static_cast<std::uint64_t>(Wide{global} * Quantity::scale /
                                                     static_cast<std::uint64_t>(slots.parts()));
  return shares;
}

}  // namespace train
