// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config_schema/search/search_config.hpp"
#include "launcher/search/trial_sampler.hpp"

namespace train {

/// What this trial of a search is made of: all before it are drawn for that. Class `config` where
/// settings or space do not make sense, `no_input` for a number that no search has.
Result<TrialSample> sample_of(const SearchConfig& config, std::int64_t trial);

}  // namespace train
