// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/trial_samples.hpp"

#include <fmt/format.h>

#include "launcher/hyperparameters/search_space.hpp"

namespace train {

Result<TrialSample> sample_of(const SearchConfig& config, std::int64_t trial) {
  constexpr std::int64_t most = 10'000'000;
  if (trial < 0 || trial >= most)
    return fail(ErrorClass::no_input, fmt::format("no search has a trial {}", trial));
  if (const auto checked = check_settings(config.settings); !checked)
    return tl::make_unexpected(checked.error());
  auto sampler = TrialSampler::of(SearchSpace(config.space), config.settings);
  if (!sampler) return tl::make_unexpected(sampler.error());
  for (std::int64_t i = 0; i < trial; ++i) (void)sampler->next();
  return sampler->next();
}

}  // namespace train
