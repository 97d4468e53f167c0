// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/trial_sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "launcher/search/rungs.hpp"

namespace train {

namespace {

constexpr std::uint64_t highest_seed = INT32_MAX;

// The cumulative share of each bracket, up to 1; a bracket's weight is e to the power of its number
// of rungs.
std::vector<double> cumulative_shares(const TuneAshaSettings& settings) {
  std::vector<double> shares;
  shares.reserve(static_cast<std::size_t>(settings.brackets));
  double sum = 0;
  const auto rungs_of = [&](int bracket) {
    return static_cast<double>(TuneRungs(settings, bracket).needs().size());
  };
  const double most = rungs_of(0);
  for (int bracket = 0; bracket < settings.brackets; ++bracket)
    shares.push_back(sum += std::exp(rungs_of(bracket) - most));
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

std::array<std::uint8_t, 16> draw_request_id(SearchRandom& random) {
  std::array<std::uint8_t, 16> id{};
  for (std::size_t i = 0; i < id.size(); i += 4) {
    const std::uint32_t word = random.word();
    for (std::size_t byte = 0; byte < 4; ++byte)
      id[i + byte] = static_cast<std::uint8_t>(word >> (8 * byte));
  }
  id[6] = static_cast<std::uint8_t>((id[6] & 0x0f) | 0x40);
  id[8] = static_cast<std::uint8_t>((id[8] & 0x3f) | 0x80);
  return id;
}

TrialSampler::TrialSampler(SearchSpace space, const SearchSettings& settings)
    : space_(std::move(space)), method_(settings.method), random_(settings.seed) {}

Result<TrialSampler> TrialSampler::of(SearchSpace space, const SearchSettings& settings) {
  TrialSampler sampler(std::move(space), settings);
  sampler.trials_ = settings.method == SearchMethod::single ? 1 : settings.max_trials;
  if (settings.method == SearchMethod::grid) {
    const auto points = sampler.space_.grid_points();
    if (!points) return tl::make_unexpected(points.error());
    sampler.trials_ = *points;
  } else if (settings.method == SearchMethod::tune) {
    const auto points = sampler.space_.tune_points();
    if (!points) return tl::make_unexpected(points.error());
    sampler.tune_points_ = *points;
    if (__builtin_mul_overflow(*points, settings.num_samples, &sampler.trials_))
      return fail(ErrorClass::config,
                  fmt::format("{} samples of {} grid points are more trials than 64 bits can count",
                              settings.num_samples, *points));
    if (settings.tune_asha && settings.tune_asha->brackets > 1)
      sampler.bracket_shares_ = cumulative_shares(*settings.tune_asha);
  }
  return sampler;
}

TrialSample TrialSampler::next() {
  // A grid is taken from the end of its list.
  TrialSample sample;
  sample.hyperparameters_json = method_ == SearchMethod::grid
                                    ? space_.grid_point(trials_ - 1 - taken_)
                                    : space_.draw(random_, taken_ % tune_points_);
  ++taken_;
  draw_request_id(random_);
  sample.seed = static_cast<std::uint32_t>(random_.whole(highest_seed));
  if (!bracket_shares_.empty()) sample.tune_bracket = draw_tune_bracket();
  return sample;
}

// The last share is 1, and a unit is always less.
int TrialSampler::draw_tune_bracket() {
  const auto drawn =
      std::upper_bound(bracket_shares_.begin(), bracket_shares_.end() - 1, random_.unit());
  return static_cast<int>(drawn - bracket_shares_.begin());
}

void TrialSampler::resume(std::int64_t taken, const SearchRandom& random) {
  taken_ = taken;
  random_ = random;
}

}  // namespace train
