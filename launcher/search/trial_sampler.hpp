// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/search/search_settings.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/hyperparameters/search_random.hpp"
#include "launcher/hyperparameters/search_space.hpp"

namespace train {

/// What a trial is made of.
struct TrialSample {
  std::string hyperparameters_json;  ///< an object on one line, names in byte order
  std::uint32_t seed = 0;            ///< 0 .. 2^31 - 1
  int tune_bracket = 0;              ///< of Tune's ASHA; 0 elsewhere

  bool operator==(const TrialSample&) const = default;
};

/// Draws the 16 bytes of the identity that Determined gives each trial: a random UUID (version 4).
/// Nobody sees it, but its words are gone from the generator.
std::array<std::uint8_t, 16> draw_request_id(SearchRandom& random);

/// The trials of a search in the order of their numbers. Trial n has the n-th sample, whichever
/// event made it, so whoever has the same space and settings can draw the same ones again.
class TrialSampler {
 public:
  /// Class `config` where the space has no grid that the settings ask for. The settings have passed
  /// `check_settings`.
  static Result<TrialSampler> of(SearchSpace space, const SearchSettings& settings);

  /// The next trial's. Each draws its hyperparameters, an identity, a seed, and Tune's bracket if
  /// there are several, in this order; points of Determined's grid draw no hyperparameters. There
  /// is always another one: who counts trials is the search.
  TrialSample next();

  /// How many trials the space and the settings ask for: those of a grid, or `max_trials`.
  std::int64_t trials() const { return trials_; }
  bool has_draws() const { return space_.has_draws(); }
  /// How many were taken, and the random numbers that are left.
  std::int64_t taken() const { return taken_; }
  const SearchRandom& random() const { return random_; }
  /// Goes on as if so many had been taken.
  void resume(std::int64_t taken, const SearchRandom& random);

 private:
  TrialSampler(SearchSpace space, const SearchSettings& settings);

  int draw_tune_bracket();

  SearchSpace space_;
  SearchMethod method_;
  SearchRandom random_;
  std::int64_t trials_ = 0;
  std::int64_t tune_points_ = 1;
  std::vector<double> bracket_shares_;  ///< of Tune, cumulative; empty: there is one bracket
  std::int64_t taken_ = 0;
};

}  // namespace train
