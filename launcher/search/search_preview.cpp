// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/search_preview.hpp"

#include <algorithm>

#include "launcher/hyperparameters/search_space.hpp"
#include "launcher/search/rungs.hpp"
#include "launcher/search/search.hpp"

namespace train {

namespace {

// The bracket of each of Tune's trials is random: for more trials than this they are not counted.
constexpr std::int64_t most_drawn = 10'000;

std::vector<SearchPreview::Group> tune_brackets(const TuneAshaSettings& asha, TrialSampler sampler,
                                                std::int64_t at_once) {
  std::vector<SearchPreview::Group> brackets;
  brackets.reserve(static_cast<std::size_t>(asha.brackets));
  for (int number = 0; number < asha.brackets; ++number)
    brackets.push_back({TuneRungs(asha, number).needs(), {}, at_once});
  if (brackets.size() == 1) brackets.front().trials = sampler.trials();
  if (brackets.size() == 1 || sampler.trials() > most_drawn) return brackets;
  for (auto& bracket : brackets) bracket.trials = 0;
  for (std::int64_t i = 0; i < sampler.trials(); ++i)
    ++*brackets[static_cast<std::size_t>(sampler.next().tune_bracket)].trials;
  return brackets;
}

}  // namespace

Result<SearchPreview> preview_search(const SearchConfig& config) {
  const SearchSpace space(config.space);
  const SearchSettings& settings = config.settings;
  const auto search = Search::make(space, settings);
  if (!search) return tl::make_unexpected(search.error());
  auto sampler = TrialSampler::of(space, settings);
  if (!sampler) return tl::make_unexpected(sampler.error());
  SearchPreview preview;
  preview.method = to_string(settings.method);
  preview.unit = config.time_metric;
  preview.seed = settings.seed;
  preview.time_budget = config.time_budget;
  preview.trials = sampler->trials();
  preview.at_once = search->room();
  const std::vector<Bracket> brackets = brackets_of(settings);
  if (!brackets.empty()) preview.trials = 0;
  for (const Bracket& bracket : brackets) {
    preview.brackets.push_back(
        {{bracket.rungs.begin(), bracket.rungs.end()}, bracket.trials, bracket.at_once});
    preview.trials += bracket.trials;
  }
  preview.lengths = lengths_of(brackets, settings.divisor);
  if (settings.method == SearchMethod::tune && settings.tune_asha)
    preview.brackets = tune_brackets(*settings.tune_asha, *sampler, preview.at_once);
  for (std::int64_t i = 0; i < std::min(preview.trials, previewed_trials); ++i) {
    TrialSample sample = sampler->next();
    std::vector<VariedValue> varied = varied_values(config.space, sample.hyperparameters_json);
    preview.first.push_back({std::move(sample), std::move(varied)});
  }
  return preview;
}

}  // namespace train
