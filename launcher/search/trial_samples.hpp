// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config_schema/search/search_config.hpp"
#include "launcher/search/trial_sampler.hpp"

namespace train {

/// The sample of this trial of a search; draws all samples before it. Class `config` if settings or
/// space are invalid, `no_input` for a number that no search has.
Result<TrialSample> sample_of(const SearchConfig& config, std::int64_t trial);

}  // namespace train
