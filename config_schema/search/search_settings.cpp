// SPDX-License-Identifier: Apache-2.0
#include "config_schema/search/search_settings.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace train {

namespace {

// By method, in the order of its values.
constexpr std::array<std::string_view, 6> names = {"single",        "random",        "grid",
                                                   "async_halving", "adaptive_asha", "tune"};

// The invalid key and the reason; nullptr: none.
const char* trouble_of_halving(const SearchSettings& settings) {
  if (settings.length < 1) return "the length of a trial (max_time) must be at least 1";
  if (!(settings.divisor > 1) || !std::isfinite(settings.divisor))
    return "'divisor' must be above 1";
  if (settings.method == SearchMethod::async_halving) {
    const bool is_possible =
        settings.num_rungs >= 1 && settings.num_rungs <= most_rungs_or_brackets;
    return is_possible ? nullptr : "'num_rungs' must be 1 to 1000";
  }
  if (settings.max_rungs < 1 || settings.max_rungs > most_rungs_or_brackets)
    return "'max_rungs' must be 1 to 1000";
  if (settings.bracket_rungs.size() > most_rungs_or_brackets)
    return "'bracket_rungs' must have at most 1000 brackets";
  for (const int rungs : settings.bracket_rungs)
    if (rungs < 1 || rungs > most_rungs_or_brackets)
      return "each bracket of 'bracket_rungs' must have 1 to 1000 rungs";
  return nullptr;
}

const char* trouble_of_tune(const SearchSettings& settings) {
  if (settings.num_samples < 1) return "'num_samples' must be at least 1";
  if (!settings.tune_asha) return nullptr;
  const TuneAshaSettings& asha = *settings.tune_asha;
  if (!(asha.grace_period > 0) || !std::isfinite(asha.grace_period))
    return "'grace_period' must be above 0";
  if (!(asha.max_t >= asha.grace_period) || !std::isfinite(asha.max_t))
    return "'max_t' must be at least 'grace_period'";
  if (!(asha.reduction_factor > 1) || !std::isfinite(asha.reduction_factor))
    return "'reduction_factor' must be above 1";
  if (asha.brackets < 1 || asha.brackets > most_rungs_or_brackets)
    return "'brackets' must be 1 to 1000";
  // A trial has one bit of a word for each rung that it has entered.
  constexpr int most_tune_rungs = 64;
  double need = asha.grace_period;
  for (int rungs = 1; rungs <= most_tune_rungs; ++rungs) need *= asha.reduction_factor;
  if (need <= asha.max_t) return "'reduction_factor' is too small: there would be over 64 rungs";
  return nullptr;
}

}  // namespace

std::string_view to_string(SearchMethod method) { return names[static_cast<std::size_t>(method)]; }

std::optional<SearchMethod> searcher_method(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name && name != "tune") return static_cast<SearchMethod>(i);
  return std::nullopt;
}

Result<void> check_settings(const SearchSettings& settings) {
  const char* trouble = nullptr;
  if (settings.max_trials < 1) trouble = "'max_trials' must be at least 1";
  if (settings.most_at_once() < 0) trouble = "'max_concurrent_trials' must be 0 or more";
  if (!trouble && settings.halves()) trouble = trouble_of_halving(settings);
  if (!trouble && settings.method == SearchMethod::tune) trouble = trouble_of_tune(settings);
  if (trouble) return fail(ErrorClass::config, trouble);
  return {};
}

}  // namespace train
