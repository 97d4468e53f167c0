// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/usage_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace train {

namespace {

struct TimeUnit {
  std::int64_t length;  // milliseconds
  std::string_view name;
};

// So that a few dozen units are on the axis.
TimeUnit unit_of(std::int64_t length) {
  constexpr std::array<TimeUnit, 4> units{
      {{1'000, "seconds"}, {60'000, "minutes"}, {3'600'000, "hours"}, {86'400'000, "days"}}};
  constexpr std::int64_t usual_count = 180;
  for (const TimeUnit& unit : units)
    if (length <= usual_count * unit.length) return unit;
  return units.back();
}

LineKind kind_of(const TaskRecord& task, int rank, int attempt) {
  if (attempt != task.restarts) return LineKind::stopped;
  if (!is_final(task.state)) return LineKind::running;
  const auto index = static_cast<std::size_t>(rank);
  if (index >= task.ranks.size() || task.ranks[index].stopped) return LineKind::stopped;
  return task.ranks[index].exit_code == 0 ? LineKind::succeeded : LineKind::failed;
}

// A quantity of the samples, and the unit in which it is drawn.
struct Quantities {
  UsageSample::Values UsageSample::*values;
  double unit;
  std::string name;
};

double largest_of(const std::vector<UsageSample>& samples,
                  UsageSample::Values UsageSample::*values) {
  std::int64_t largest = 0;
  for (const UsageSample& sample : samples)
    for (const auto& value : sample.*values) largest = std::max(largest, value.value_or(0));
  return static_cast<double>(largest);
}

// In MiB or GiB, as the largest value needs.
Quantities bytes_of(const std::vector<UsageSample>& samples,
                    UsageSample::Values UsageSample::*values, std::string_view name) {
  constexpr double mebibyte = 1 << 20;
  constexpr double gibibyte = 1 << 30;
  const bool is_large = largest_of(samples, values) >= gibibyte;
  return {values, is_large ? gibibyte : mebibyte,
          fmt::format("{}, {}", name, is_large ? "GiB" : "MiB")};
}

MetricChart chart_of_usage(const TaskRecord& task, const std::vector<UsageSample>& samples,
                           const Quantities& drawn) {
  const int ranks = most_ranks(task);
  const bool is_band = ranks > static_cast<int>(most_sampled_ranks);
  const TimeUnit time = unit_of(samples.back().at - task.created);
  MetricChart chart{.caption = {drawn.name, ""},
                    .step_name = fmt::format("{} since the launch", time.name),
                    .metric_name = drawn.name,
                    .smaller_is_better = std::nullopt,
                    .lines = {},
                    .reporters = is_band ? fmt::format("{} ranks", ranks) : "ranks",
                    .from_zero = true,
                    .has_bands = is_band,
                    .height = 180};
  std::map<std::pair<int, std::size_t>, ChartLine> lines;  // by attempt and index
  for (const UsageSample& sample : samples)
    for (std::size_t i = 0; i < (sample.*drawn.values).size(); ++i)
      if (const auto& value = (sample.*drawn.values)[i])
        lines[{sample.attempt, i}].points.push_back(
            {static_cast<double>(sample.at - task.created) / static_cast<double>(time.length),
             static_cast<double>(*value) / drawn.unit});
  constexpr std::array<std::string_view, 3> of_band{"the least", "the median", "the most"};
  for (auto& [of, line] : lines) {
    const auto& [attempt, index] = of;
    line.name = is_band ? std::string(of_band[std::min<std::size_t>(index, 2)])
                        : fmt::format("rank {}", index);
    line.remark = fmt::format("attempt {}", attempt);
    line.kind = is_band ? LineKind::succeeded : kind_of(task, static_cast<int>(index), attempt);
    if (task.restarts > 0) line.name += fmt::format(", attempt {}", attempt);
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

}  // namespace

std::vector<MetricChart> usage_charts(const TaskRecord& task,
                                      const std::vector<UsageSample>& samples) {
  if (samples.empty()) return {};
  std::vector<MetricChart> charts;
  for (const Quantities& drawn : {Quantities{&UsageSample::cpu, 1'000, "CPUs in use"},
                                  bytes_of(samples, &UsageSample::memory, "memory"),
                                  Quantities{&UsageSample::gpu, 1'000, "GPUs in use"},
                                  bytes_of(samples, &UsageSample::gpu_memory, "GPU memory")}) {
    MetricChart chart = chart_of_usage(task, samples, drawn);
    if (!chart.lines.empty()) charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace train
