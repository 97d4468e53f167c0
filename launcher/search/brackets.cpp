// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/brackets.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "launcher/search/portable_math.hpp"

namespace train {

namespace {

// Truncates to a whole number from 1 to `most`. NaN, the result of infinite weights, becomes 1.
std::int64_t cut(double value, std::int64_t most) {
  if (!(value >= 1)) return 1;
  if (value >= static_cast<double>(most)) return most;
  return static_cast<std::int64_t>(value);
}

std::vector<int> adaptive_rungs(const SearchSettings& settings) {
  std::vector<int> rungs = settings.bracket_rungs;
  if (rungs.empty()) {
    const int most = most_adaptive_rungs(settings);
    int least = most;
    if (settings.mode == AdaptiveMode::conservative) least = 1;
    if (settings.mode == AdaptiveMode::standard) least = (most - 1) / 2 + 1;
    for (int count = least; count <= most; ++count) rungs.push_back(count);
  }
  std::sort(rungs.begin(), rungs.end(), std::greater<>());
  return rungs;
}

// The weight of a bracket with r rungs is the number of trials that it needs to use as many units
// as any other bracket.
void share_trials(std::vector<Bracket>& brackets, const SearchSettings& settings) {
  std::vector<double> weights;
  double sum = 0;
  for (const Bracket& bracket : brackets) {
    const int rungs = static_cast<int>(bracket.rungs.size());
    weights.push_back(whole_power(settings.divisor, rungs - 1) / rungs);
    sum += weights.back();
  }
  std::int64_t left = settings.max_trials;
  for (std::size_t i = 0; i < brackets.size(); ++i) {
    const double share = weights[i] / sum * static_cast<double>(settings.max_trials);
    brackets[i].trials = cut(share, settings.max_trials);
    left -= brackets[i].trials;
  }
  brackets.front().trials += std::max<std::int64_t>(left, 0);
}

void share_room(std::vector<Bracket>& brackets, const SearchSettings& settings) {
  const auto count = static_cast<std::int64_t>(brackets.size());
  if (settings.most_at_once() == 0) {
    const std::int64_t each = std::max(brackets.back().trials, cut(settings.divisor, INT64_MAX));
    for (Bracket& bracket : brackets) bracket.at_once = each;
    return;
  }
  const std::int64_t room = std::max(settings.most_at_once(), count);
  std::int64_t rest = room % count;
  for (Bracket& bracket : brackets) bracket.at_once = room / count + (rest-- > 0 ? 1 : 0);
}

}  // namespace

std::vector<std::int64_t> rung_needs(int rungs, double divisor, std::int64_t length) {
  std::vector<std::int64_t> needs;
  for (int below_top = rungs - 1; below_top >= 0; --below_top)
    needs.push_back(cut(static_cast<double>(length) / whole_power(divisor, below_top), length));
  return needs;
}

int most_adaptive_rungs(const SearchSettings& settings) {
  const auto rungs_for = [&](std::int64_t value) {
    const double divisions = fdlibm_log(static_cast<double>(value)) / fdlibm_log(settings.divisor);
    return static_cast<int>(std::min<double>(divisions, most_rungs_or_brackets)) + 1;
  };
  return std::min({settings.max_rungs, rungs_for(settings.length), rungs_for(settings.max_trials)});
}

std::vector<Bracket> brackets_of(const SearchSettings& settings) {
  std::vector<Bracket> brackets;
  const auto add = [&](int rungs) {
    brackets.push_back({rung_needs(rungs, settings.divisor, settings.length)});
  };
  if (settings.method == SearchMethod::async_halving) {
    add(settings.num_rungs);
    Bracket& only = brackets.front();
    only.trials = settings.max_trials;
    // As many as are needed for one of them to reach the top.
    only.at_once =
        settings.most_at_once() > 0
            ? std::min(settings.most_at_once(), settings.max_trials)
            : cut(whole_power(settings.divisor, settings.num_rungs - 1), settings.max_trials);
  } else if (settings.method == SearchMethod::adaptive_asha) {
    for (const int rungs : adaptive_rungs(settings)) add(rungs);
    share_trials(brackets, settings);
    share_room(brackets, settings);
  }
  return brackets;
}

std::vector<LengthCount> lengths_of(const std::vector<Bracket>& brackets, double divisor) {
  std::map<std::int64_t, std::int64_t> trials_by_units;
  for (const Bracket& bracket : brackets) {
    std::int64_t there = bracket.trials;
    for (std::size_t rung = 0; rung < bracket.rungs.size(); ++rung) {
      const bool is_top = rung + 1 == bracket.rungs.size();
      const std::int64_t on = is_top ? 0 : cut(static_cast<double>(there) / divisor, there);
      if (there > on) trials_by_units[bracket.rungs[rung]] += there - on;
      there = on;
    }
  }
  std::vector<LengthCount> lengths;
  lengths.reserve(trials_by_units.size());
  for (const auto& [units, trials] : trials_by_units) lengths.push_back({units, trials});
  return lengths;
}

}  // namespace train
