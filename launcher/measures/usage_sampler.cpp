// SPDX-License-Identifier: Apache-2.0
#include "launcher/measures/usage_sampler.hpp"

#include <algorithm>

namespace train {

namespace {

// What does not change is not reported: a rank that is silent for so many times the usual time uses
// no CPU.
constexpr int silent_gaps = 3;

// The least, the median and the most of the known values; nothing if none is known.
UsageSample::Values spread_of(const UsageSample::Values& values) {
  std::vector<std::int64_t> known;
  for (const auto& value : values)
    if (value) known.push_back(*value);
  if (known.empty()) return {std::nullopt, std::nullopt, std::nullopt};
  std::sort(known.begin(), known.end());
  return {known.front(), known[known.size() / 2], known.back()};
}

bool is_any_known(const UsageSample::Values& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const auto& value) { return value.has_value(); });
}

}  // namespace

void UsageSampler::used(int rank, const RankUsage& usage, Instant now) {
  if (!usage.memory) {
    used_.erase(rank);
    return;
  }
  const auto [found, is_new] = used_.try_emplace(rank, Used{usage, now});
  Used& known = found->second;
  if (is_new || now <= known.at) {
    known.usage = usage;
    return;
  }
  known.gap = now - known.at;
  const std::int64_t thousandths = (usage.cpu - known.usage.cpu) * 1'000 / known.gap;
  known.cpu = std::max<std::int64_t>(0, thousandths);
  known.usage = usage;
  known.at = now;
}

UsageSample UsageSampler::sample(Instant now) const {
  UsageSample sample;
  for (UsageSample::Values* values : {&sample.cpu, &sample.memory, &sample.gpu, &sample.gpu_memory})
    values->resize(static_cast<std::size_t>(ranks_));
  for (const auto& [rank, used] : used_) {
    if (rank < 0 || rank >= ranks_) continue;
    const auto index = static_cast<std::size_t>(rank);
    const bool is_silent = used.cpu && now - used.at > silent_gaps * used.gap;
    sample.cpu[index] = is_silent ? std::optional<std::int64_t>(0) : used.cpu;
    sample.memory[index] = static_cast<std::int64_t>(*used.usage.memory);
    sample.gpu[index] = used.usage.gpu;
    if (used.usage.gpu_memory)
      sample.gpu_memory[index] = static_cast<std::int64_t>(*used.usage.gpu_memory);
  }
  for (UsageSample::Values* values : {&sample.gpu, &sample.gpu_memory})
    if (!is_any_known(*values)) values->clear();
  if (sample.cpu.size() <= most_sampled_ranks) return sample;
  for (UsageSample::Values* values : {&sample.cpu, &sample.memory, &sample.gpu, &sample.gpu_memory})
    if (!values->empty()) *values = spread_of(*values);
  return sample;
}

}  // namespace train
