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

/// The values that distinguish a trial.
struct TrialSample {
  std::string hyperparameters_json;  ///< an object on one line, names in byte order
  std::uint32_t seed = 0;            ///< 0 .. 2^31 - 1
  int tune_bracket = 0;              ///< for Tune's ASHA; 0 otherwise

  bool operator==(const TrialSample&) const = default;
};

/// Draws the 16 bytes of the id that Determined gives each trial: a random UUID (version 4). The id
/// is not used, but its words must be consumed from the generator.
std::array<std::uint8_t, 16> draw_request_id(SearchRandom& random);

/// The samples of a search's trials in the order of their numbers. Trial n has the n-th sample,
/// regardless of the event that made it, so the same space and settings give the same samples
/// again.
class TrialSampler {
 public:
  /// Class `config` if the settings require a grid that the space does not have. The settings must
  /// have passed `check_settings`.
  static Result<TrialSampler> of(SearchSpace space, const SearchSettings& settings);

  /// The sample of the next trial. Draws in this order: its hyperparameters, an id, a seed, and
  /// Tune's bracket if there are several; points of Determined's grid draw no hyperparameters.
  /// There is no end: the search counts the trials.
  TrialSample next();

  /// The number of trials by space and settings: that of a grid, or `max_trials`.
  std::int64_t trials() const { return trials_; }
  bool has_draws() const { return space_.has_draws(); }
  /// The number of samples taken, and the generator in its present state.
  std::int64_t taken() const { return taken_; }
  const SearchRandom& random() const { return random_; }
  /// Continues as if this many samples had been taken.
  void resume(std::int64_t taken, const SearchRandom& random);

 private:
  TrialSampler(SearchSpace space, const SearchSettings& settings);

  int draw_tune_bracket();

  SearchSpace space_;
  SearchMethod method_;
  SearchRandom random_;
  std::int64_t trials_ = 0;
  std::int64_t tune_points_ = 1;
  std::vector<double> bracket_shares_;  ///< for Tune, cumulative; empty: there is one bracket
  std::int64_t taken_ = 0;
};

}  // namespace train
