// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/rungs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace train {

std::vector<RungVerdict> HalvingRungs::report(EnteredRungs& entered, double step, double metric) {
  std::vector<RungVerdict> verdicts;
  const double whole_step = std::trunc(step);
  while (entered < needs_.size() && whole_step >= static_cast<double>(needs_[entered])) {
    const auto rung = static_cast<std::size_t>(entered++);
    SortedMetrics& metrics = metrics_[rung];
    const std::size_t position = metrics.insert(metric);
    const bool is_top = entered == needs_.size();
    const double on = std::max(1.0, std::floor(static_cast<double>(metrics.size()) / divisor_));
    const bool stops = is_top || static_cast<double>(position) >= on;
    verdicts.push_back({static_cast<int>(rung), stops, is_top});
    if (stops) break;
  }
  return verdicts;
}

void HalvingRungs::add_failure(EnteredRungs entered) {
  if (entered < metrics_.size()) metrics_[entered].insert(std::numeric_limits<double>::max());
}

TuneRungs::TuneRungs(const TuneAshaSettings& settings, int number)
    : max_t_(settings.max_t), quantile_(1 - 1 / settings.reduction_factor) {
  double need = settings.grace_period;
  for (int skipped = 0; skipped < number && need <= max_t_; ++skipped)
    need *= settings.reduction_factor;
  for (; need <= max_t_; need *= settings.reduction_factor) needs_.push_back(need);
  metrics_.resize(needs_.size());
}

std::vector<RungVerdict> TuneRungs::report(EnteredRungs& entered, double step, double metric) {
  if (step >= max_t_) return {{std::nullopt, true, true}};
  for (std::size_t rung = needs_.size(); rung-- > 0;) {
    const EnteredRungs bit = EnteredRungs{1} << rung;
    if (!(step >= needs_[rung]) || (entered & bit) != 0) continue;
    entered |= bit;
    const bool stops = is_worse(metrics_[rung], metric);
    metrics_[rung].insert(metric);
    return {{static_cast<int>(rung), stops, false}};
  }
  return {};
}

// The quantile is interpolated linearly between two neighbours, as in numpy. Between a number and
// an infinity it is the infinity, where numpy gives NaN in some cases.
bool TuneRungs::is_worse(const SortedMetrics& recorded, double metric) const {
  if (recorded.numbers() == 0) return false;
  if (std::isnan(metric)) return true;
  const double place = quantile_ * static_cast<double>(recorded.numbers() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(below);
  const double low = recorded.at(below);
  if (share == 0) return metric < low;
  const double high = recorded.at(below + 1);
  if (low == high || std::isinf(low)) return metric < low;
  if (std::isinf(high)) return metric < high;
  const double distance = high - low;
  return metric < (share < 0.5 ? low + distance * share : high - distance * (1 - share));
}

}  // namespace train
