// SPDX-License-Identifier: Apache-2.0
// On thousands of random spaces, settings and traces of events a search decides what a naive one
// decides, keeps its promises, and survives in a snapshot and in its decisions.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "launcher/search/search.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/search/infinity.hpp"
#include "tests/launcher/search/naive_search.hpp"
#include "tests/launcher/search/space_text.hpp"

using namespace train;
using namespace train::testing;
using nlohmann::json;

namespace {

// A sanitizer slows all of this down by a factor of ten and more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr std::uint32_t slowdown = 10;
#else
constexpr std::uint32_t slowdown = 1;
#endif

/// Everything that is chosen at random.
class Chance {
 public:
  explicit Chance(std::uint32_t seed) : random_(seed) {}

  int number(int low, int high) {
    return low + static_cast<int>(random_.whole(static_cast<std::uint64_t>(high - low)));
  }
  bool happens(int percent) { return number(1, 100) <= percent; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + number(0, static_cast<int>(all.size()) - 1));
  }

  json space(bool is_tune, int depth = 0) {
    json group = json::object();
    const int count = number(depth == 0 ? 1 : 0, 4);
    for (int i = 0; i < count; ++i) {
      const auto name = fmt::format("{}{}", one_of({"a", "B", "_c", "z", "Z9"}), number(0, 9));
      group[name] = depth < 2 && happens(15) ? space(is_tune, depth + 1)
                    : is_tune && happens(70) ? tune_word()
                                             : kind();
    }
    return group;
  }

  SearchSettings settings() {
    SearchSettings made;
    made.method = one_of({SearchMethod::single, SearchMethod::random, SearchMethod::grid,
                          SearchMethod::async_halving, SearchMethod::async_halving,
                          SearchMethod::adaptive_asha, SearchMethod::adaptive_asha,
                          SearchMethod::tune, SearchMethod::tune});
    made.seed = random_.word();
    made.smaller_is_better = happens(50);
    made.max_trials = number(1, 25);
    if (happens(70)) made.max_concurrent_trials = number(0, 8);
    made.length = number(1, 300);
    made.divisor = one_of({1.5, 2.0, 2.5, 3.0, 4.0, 4.7});
    made.num_rungs = number(1, 5);
    made.max_rungs = number(1, 6);
    made.mode =
        one_of({AdaptiveMode::aggressive, AdaptiveMode::standard, AdaptiveMode::conservative});
    // The naive search has another logarithm, whose last bit differs.
    if (happens(30) || is_power(made.length, made.divisor) ||
        is_power(made.max_trials, made.divisor))
      for (int i = number(1, 4); i > 0; --i) made.bracket_rungs.push_back(number(1, 5));
    made.num_samples = number(1, 4);
    if (happens(70))
      made.tune_asha =
          TuneAshaSettings{static_cast<double>(number(4, 300)), one_of({1.0, 2.0, 3.5}),
                           one_of({2.0, 3.0, 4.0}), one_of({1, 1, 2, 5})};
    return made;
  }

  SearchEvent event(const train::Search& search) {
    if (happens(2)) return search_event::Start{};
    if (search.trials() > 30 && happens(1)) return search_event::CutShort{};
    const std::int64_t trial = trial_of(search);
    if (happens(70)) return search_event::Reported{trial, step(), metric()};
    if (happens(10)) return search_event::Killed{trial};
    if (happens(10)) return search_event::SaidInvalid{trial};
    return search_event::Over{trial,
                              one_of({TrialEnd::by_itself, TrialEnd::failed, TrialEnd::invalid})};
  }

 private:
  static bool is_power(std::int64_t value, double divisor) {
    const double quotient = std::log(static_cast<double>(value)) / std::log(divisor);
    return std::abs(quotient - std::round(quotient)) < 1e-9;
  }

  json kind() {
    const int low = number(-20, 20);
    const int high = low + number(1, 30);
    const int count = number(1, 3);
    switch (number(0, 5)) {
      case 0:
        return {{"type", "int"}, {"minval", low}, {"maxval", high}, {"count", count}};
      case 1:
        return {{"type", "double"}, {"minval", low}, {"maxval", high}, {"count", count}};
      case 2:
        return {{"type", "log"},
                {"minval", low / 9.0},
                {"maxval", high / 9.0},
                {"base", one_of({2, 10})},
                {"count", count}};
      case 3:
        return {{"type", "categorical"}, {"vals", {1, "two", nullptr}}};
      case 4:
        return {{"type", "const"}, {"val", {{"type", "x"}}}};
      default:
        return one_of<json>({json(3), json("text"), json({1, 2}), json(true)});
    }
  }

  json tune_word() {
    const int low = number(1, 20);
    const int high = low + number(1, 30);
    switch (number(0, 6)) {
      case 0:
        return {{"uniform", {low, high}}};
      case 1:
        return {{"loguniform", {low, high}}};
      case 2:
        return {{"quniform", {low, high, one_of({0.25, 0.3, 1.0})}}};
      case 3:
        return {{"randint", {low, high}}};
      case 4:
        return {{"choice", {"p", "q", 3}}};
      case 5:
        return {{"normal", {low, high}}};
      default:
        return {{"grid_search", {1, "b"}}};
    }
  }

  // Mostly one that runs.
  std::int64_t trial_of(const train::Search& search) {
    const int last = static_cast<int>(search.trials()) - 1;
    if (last < 0) return 0;
    for (int tries = 0; tries < 8; ++tries) {
      const std::int64_t trial = number(0, last);
      const TrialState state = search.state(trial);
      if (state == TrialState::running || (state == TrialState::stopping && happens(60)))
        return trial;
    }
    return number(-1, last + 1);
  }

  double step() {
    if (happens(10)) return number(0, 40) / 4.0;
    return std::floor(std::pow(2.0, number(0, 85) / 10.0));
  }

  // Few values, so that many are equal.
  double metric() {
    if (happens(10))
      return one_of({infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0,
                     std::numeric_limits<double>::max()});
    return number(0, 12) / 7.0;
  }

  SearchRandom random_;
};

std::vector<std::string> lines_of(train::Search& search, const SearchEvent& event) {
  const std::size_t before = search.decision_count();
  const auto actions = search.on(event);
  std::vector<std::string> lines;
  for (const SearchDecision& decision : search.decisions_from(before))
    lines.push_back(naive::line_of(decision));
  for (const SearchAction& action : actions) lines.push_back(naive::line_of(action));
  return lines;
}

// NaN is equal to NaN.
bool are_same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

/// One random search, played on two implementations.
class Game {
 public:
  explicit Game(std::uint32_t seed) : chance_(seed), settings_(chance_.settings()) {
    text_ = chance_.space(settings_.method == SearchMethod::tune).dump();
    space_ = space_of(text_, settings_.method == SearchMethod::tune);
  }

  void play(bool with_snapshots) {
    auto made = train::Search::make(space_, settings_);
    if (!made) {  // of what is chosen here, only a grid may have no points
      CHECK(settings_.method == SearchMethod::grid);
      return;
    }
    train::Search search = *std::move(made);
    naive::Search other(text_, settings_);
    std::int64_t invalid = 0;
    CHECK(search.room() == other.runs_at_most());
    step(search, other, search_event::Start{});
    for (int i = 0; i < 120 && !search.is_done(); ++i) {
      step(search, other, chance_.event(search));
      const std::int64_t running =
          search.count(TrialState::running) + search.count(TrialState::stopping);
      REQUIRE(running <= search.room());
      if (with_snapshots) survive(search);
    }
    for (const SearchDecision& decision : search.decisions())
      invalid += decision.verdict == SearchVerdict::invalid ? 1 : 0;
    CHECK(search.trials() <= other.wanted() + invalid);
    CHECK(search.is_done() == other.is_done());
    compare(search, other);
    replay(search);
  }

 private:
  void step(train::Search& search, naive::Search& other, const SearchEvent& event) {
    const auto lines = lines_of(search, event);
    REQUIRE(lines == other.on(event));
  }

  // The search that goes on is the one that was in the snapshot.
  void survive(train::Search& search) {
    const std::string text = search.snapshot().dump();
    auto restored = train::Search::restored(space_, settings_, json::parse(text));
    REQUIRE(restored);
    REQUIRE(restored->snapshot().dump() == text);
    search = *std::move(restored);
  }

  void compare(const train::Search& search, const naive::Search& other) {
    for (std::int64_t trial = 0; trial < search.trials(); ++trial)
      REQUIRE(trial_states().row(search.state(trial)).name ==
              other.state(static_cast<std::size_t>(trial)));
    const json rungs = search.snapshot()["rungs"];
    for (std::size_t bracket = 0; bracket < rungs.size(); ++bracket)
      for (std::size_t rung = 0; rung < rungs[bracket].size(); ++rung)
        REQUIRE(are_same(search.recorded(static_cast<int>(bracket), static_cast<int>(rung)),
                         other.recorded(bracket, rung)));
  }

  void replay(const train::Search& search) {
    std::vector<SearchDecision> decisions;
    for (const SearchDecision& decision : search.decisions())
      decisions.push_back(*decision_of_json(json::parse(json_of(decision).dump())));
    const auto again = train::Search::replayed(space_, settings_, decisions);
    REQUIRE(again);
    CHECK(again->trials() == search.trials());
    CHECK(again->decisions() == search.decisions());
    const json was = search.snapshot();
    const json is = again->snapshot();
    for (const char* name : {"random", "made", "decisions", "rungs"}) CHECK(is[name] == was[name]);
    for (std::int64_t trial = 0; trial < search.trials(); ++trial)
      CHECK(again->bracket(trial) == search.bracket(trial));
  }

  Chance chance_;
  SearchSettings settings_;
  std::string text_;
  SearchSpace space_;
};

}  // namespace

TEST_CASE("random searches decide what naive ones decide") {
  for (std::uint32_t seed = 0; seed < 4000 / slowdown; ++seed) {
    INFO("seed " << seed);
    Game(seed).play(false);
  }
}

TEST_CASE("a search goes on from a snapshot after every event") {
  for (std::uint32_t seed = 10000; seed < 10000 + 150 / slowdown; ++seed) {
    INFO("seed " << seed);
    Game(seed).play(true);
  }
}
