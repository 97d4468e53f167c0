// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/search/search_player.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/launcher/search/space_text.hpp"

namespace train {

namespace {

Search search_of(const SearchSettings& settings, const char* text) {
  const SearchSpace space = testing::space_of(text, settings.method == SearchMethod::tune);
  auto search = Search::make(space, settings);
  REQUIRE(search);
  return *search;
}

std::string word_of(const SearchDecision& decision) {
  if (decision.is_end()) return std::string(to_string(decision.verdict));
  if (!decision.rung) return "stop";
  return fmt::format("{}{}", decision.verdict == SearchVerdict::stop ? 's' : 'c', *decision.rung);
}

}  // namespace

SearchPlayer::SearchPlayer(const SearchSettings& settings, const char* space, Ends ends)
    : search_(search_of(settings, space)), ends_(ends) {}

std::string SearchPlayer::line(const SearchEvent& event, bool with_runs) {
  const std::size_t before = search_.decision_count();
  const auto actions = search_.on(event);
  std::string words;
  for (const SearchDecision& decision : search_.decisions_from(before))
    words += word_of(decision) + ' ';
  std::string others;
  bool is_done = false;
  std::vector<std::int64_t> stopped;
  for (const SearchAction& action : actions) {
    if (const auto* make = std::get_if<search_action::Make>(&action)) {
      words += fmt::format("+{} ", make->trial);
      made_.push_back(make->hyperparameters_json);
    } else if (const auto* run = std::get_if<search_action::Run>(&action)) {
      others += fmt::format("run{} ", run->trial);
    } else if (const auto* stop = std::get_if<search_action::Stop>(&action)) {
      others += fmt::format("stop{} ", stop->trial);
      stopped.push_back(stop->trial);
    } else {
      is_done = true;
    }
  }
  if (with_runs) words += others;
  if (is_done) words += "done ";
  if (ends_ == Ends::at_once)
    for (const std::int64_t trial : stopped) search_.on(search_event::Over{trial});
  if (!words.empty()) words.pop_back();
  return words;
}

}  // namespace train
