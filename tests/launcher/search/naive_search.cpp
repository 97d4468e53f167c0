// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/search/naive_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace train::naive {

using nlohmann::json;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

double number(const json& value, const char* name) { return value[name].get<double>(); }

json sample(const json& value, SearchRandom& random, std::int64_t& point) {
  if (!value.is_object()) return value;
  if (value.contains("type")) {
    const std::string type = value["type"];
    if (type == "const") return value["val"];
    if (type == "categorical") return value["vals"][random.whole(value["vals"].size() - 1)];
    if (type == "int") {
      const std::int64_t low = value["minval"];
      const std::int64_t high = value["maxval"];
      return low + static_cast<std::int64_t>(random.whole(static_cast<std::uint64_t>(high - low)));
    }
    const double low = number(value, "minval");
    const double drawn = low + (number(value, "maxval") - low) * random.unit();
    return type == "log" ? std::pow(number(value, "base"), drawn) : drawn;
  }
  const json& list = value.empty() ? value : value.front();
  const std::string word = value.empty() ? "" : value.begin().key();
  if (word == "grid_search") {
    const auto size = static_cast<std::int64_t>(list.size());
    const std::int64_t index = point % size;
    point = point / size;
    return list[static_cast<std::size_t>(index)];
  }
  if (word == "choice") return list[random.whole(list.size() - 1)];
  if (word == "normal") return list[0].get<double>() + list[1].get<double>() * random.normal();
  if (word == "randint") {
    const int low = list[0];
    const int end = list[1];
    return low + static_cast<int>(random.whole(static_cast<std::uint64_t>(end - 1 - low)));
  }
  if (word == "uniform" || word == "loguniform" || word == "quniform") {
    double low = list[0];
    double high = list[1];
    if (word == "uniform") return low + (high - low) * random.unit();
    if (word == "loguniform") {
      low = std::log(low);
      high = std::log(high);
      return std::exp(low + (high - low) * random.unit());
    }
    const double step = list[2];
    low = std::ceil(low / step) * step;
    high = std::floor(high / step) * step;
    return std::nearbyint((low + (high - low) * random.unit()) / step) * step;
  }
  json group = json::object();
  for (const auto& [name, member] : value.items()) group[name] = sample(member, random, point);
  return group;
}

// All points of Determined's grid, the last name fastest.
json grid(const json& value) {
  json points = json::array();
  if (!value.is_object()) return {value};
  if (!value.contains("type")) {
    points.push_back(json::object());
    for (const auto& [name, member] : value.items()) {
      json longer = json::array();
      const json values = grid(member);
      for (const json& point : points)
        for (const json& one : values) {
          json more = point;
          more[name] = one;
          longer.push_back(std::move(more));
        }
      points = longer;
    }
    return points;
  }
  const std::string type = value["type"];
  if (type == "const") return json::array({value["val"]});
  if (type == "categorical") return value["vals"];
  const double low = number(value, "minval");
  const double high = number(value, "maxval");
  int count = value["count"];
  if (type == "int") count = std::min(count, static_cast<int>(high - low) + 1);
  for (int i = 0; i < count; ++i) {
    const double place = count == 1 ? (low + high) / 2 : low + i * (high - low) / (count - 1);
    if (type == "int")
      points.push_back(static_cast<int>(std::round(place)));
    else
      points.push_back(type == "log" ? std::pow(number(value, "base"), place) : place);
  }
  return points;
}

std::int64_t tune_points(const json& value) {
  std::int64_t points = 1;
  if (!value.is_object() || value.contains("type")) return 1;
  if (value.contains("grid_search")) return static_cast<std::int64_t>(value["grid_search"].size());
  for (const json& member : value) points *= tune_points(member);
  return points;
}

bool has_draws(const json& value) {
  if (!value.is_object()) return false;
  if (value.contains("type")) return value["type"] != "const";
  return std::any_of(value.begin(), value.end(), has_draws);
}

// Whether a ranks behind b, or where it does.
bool is_behind(double a, double b) { return std::isnan(b) ? false : std::isnan(a) || a > b; }

}  // namespace

std::string line_of(const SearchDecision& decision) {
  if (decision.is_end()) return fmt::format("{} {}", to_string(decision.verdict), decision.trial);
  return fmt::format("{} {} rung {} step {} metric {}", to_string(decision.verdict), decision.trial,
                     decision.rung.value_or(-1), decision.step,
                     std::isnan(decision.metric) ? nan_value : decision.metric);
}

std::string line_of(const SearchAction& action) {
  if (const auto* make = std::get_if<search_action::Make>(&action))
    return fmt::format("make {} bracket {} seed {} {}", make->trial, make->bracket, make->seed,
                       json::parse(make->hyperparameters_json).dump());
  if (const auto* run = std::get_if<search_action::Run>(&action))
    return fmt::format("run {}", run->trial);
  if (const auto* stop = std::get_if<search_action::Stop>(&action))
    return fmt::format("stop {}", stop->trial);
  return "done";
}

Search::Search(std::string space, const SearchSettings& settings)
    : space_(std::move(space)), settings_(settings), random_(settings.seed) {
  std::int64_t limit = settings.max_concurrent_trials.value_or(16);
  if (settings.method == SearchMethod::tune) limit = settings.max_concurrent_trials.value_or(0);
  if (settings.halves()) {
    set_up_halving();
  } else {
    Bracket all;
    all.trials = settings.max_trials;
    if (settings.method == SearchMethod::single) all.trials = 1;
    if (settings.method == SearchMethod::grid)
      all.trials = static_cast<std::int64_t>(grid(json::parse(space_)).size());
    if (settings.method == SearchMethod::tune)
      all.trials = settings.num_samples * tune_points(json::parse(space_));
    all.at_start = limit == 0 ? all.trials : std::min(limit, all.trials);
    brackets_.push_back(all);
    if (settings.tune_asha && settings.method == SearchMethod::tune) set_up_tune();
  }
  for (const Bracket& bracket : brackets_) room_ += bracket.at_start;
}

void Search::set_up_halving() {
  const bool is_adaptive = settings_.method == SearchMethod::adaptive_asha;
  const std::int64_t limit = settings_.max_concurrent_trials.value_or(16);
  std::vector<int> rungs = {settings_.num_rungs};
  if (is_adaptive) {
    rungs = settings_.bracket_rungs;
    if (rungs.empty()) {
      int most = settings_.max_rungs;
      for (const std::int64_t value : {settings_.length, settings_.max_trials})
        most = std::min(most, static_cast<int>(std::log(static_cast<double>(value)) /
                                               std::log(settings_.divisor)) +
                                  1);
      for (int count = 1; count <= most; ++count)
        if (settings_.mode == AdaptiveMode::conservative || count == most ||
            (settings_.mode == AdaptiveMode::standard && count >= (most - 1) / 2 + 1))
          rungs.push_back(count);
    }
    std::sort(rungs.rbegin(), rungs.rend());
  }
  double sum = 0;
  for (const int count : rungs) sum += std::pow(settings_.divisor, count - 1) / count;
  std::int64_t left = settings_.max_trials;
  for (const int count : rungs) {
    Bracket bracket;
    for (int i = 0; i < count; ++i)
      bracket.needs.push_back(
          std::max(1.0, std::floor(static_cast<double>(settings_.length) /
                                   std::pow(settings_.divisor, count - 1 - i))));
    bracket.rungs.resize(bracket.needs.size());
    const double share = std::pow(settings_.divisor, count - 1) / count / sum;
    bracket.trials = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(share * static_cast<double>(settings_.max_trials)));
    left -= bracket.trials;
    brackets_.push_back(bracket);
  }
  if (left > 0) brackets_[0].trials += left;
  const auto count = static_cast<std::int64_t>(brackets_.size());
  for (std::int64_t i = 0; i < count; ++i) {
    Bracket& bracket = brackets_[static_cast<std::size_t>(i)];
    std::int64_t at_once = 0;
    if (limit == 0 && is_adaptive)
      at_once = std::max(brackets_.back().trials, static_cast<std::int64_t>(settings_.divisor));
    else if (limit == 0)
      at_once = static_cast<std::int64_t>(std::pow(settings_.divisor, settings_.num_rungs - 1));
    else
      at_once = std::max(limit, count) / count + (i < std::max(limit, count) % count ? 1 : 0);
    bracket.at_start = std::clamp<std::int64_t>(at_once, 1, bracket.trials);
  }
}

// The first bracket has the trials; the others are there for their rungs.
void Search::set_up_tune() {
  const TuneAshaSettings& asha = *settings_.tune_asha;
  for (int number = 0; number < asha.brackets; ++number) {
    if (number > 0) brackets_.emplace_back();
    Bracket& bracket = brackets_.back();
    for (int power = number;; ++power) {
      const double need = asha.grace_period * std::pow(asha.reduction_factor, power);
      if (need > asha.max_t) break;
      bracket.needs.push_back(need);
    }
    bracket.rungs.resize(bracket.needs.size());
  }
}

std::int64_t Search::wanted() const {
  std::int64_t sum = 0;
  for (const Bracket& bracket : brackets_) sum += bracket.trials;
  return sum;
}

std::vector<double> Search::recorded(std::size_t bracket, std::size_t rung) const {
  std::vector<double> metrics;
  for (const Entry& entry : brackets_[bracket].rungs[rung]) metrics.push_back(entry.second);
  std::sort(metrics.begin(), metrics.end(), [](double a, double b) { return is_behind(b, a); });
  return metrics;
}

std::vector<std::string> Search::on(const SearchEvent& event) {
  decisions_.clear();
  actions_.clear();
  if (std::holds_alternative<search_event::Start>(event) && !is_started_) {
    is_started_ = true;
    for (std::size_t bracket = 0; bracket < brackets_.size(); ++bracket)
      for (std::int64_t i = 0; i < brackets_[bracket].at_start; ++i) make(bracket);
  } else if (const auto* reported = std::get_if<search_event::Reported>(&event)) {
    if (is(reported->trial, "running"))
      report(static_cast<std::size_t>(reported->trial), reported->step, reported->metric);
  } else if (const auto* said = std::get_if<search_event::SaidInvalid>(&event)) {
    if (is(said->trial, "running")) {
      stop(static_cast<std::size_t>(said->trial), "invalid");
      end(static_cast<std::size_t>(said->trial), "invalid");
    }
  } else if (const auto* killed = std::get_if<search_event::Killed>(&event)) {
    const auto trial = static_cast<std::size_t>(killed->trial);
    if (is(killed->trial, "running")) {
      stop(trial, "killed");
      end(trial, "failed");
    } else if (is(killed->trial, "waiting")) {
      trials_[trial].state = "killed";
      end(trial, "failed");
    }
  } else if (const auto* over = std::get_if<search_event::Over>(&event)) {
    const auto trial = static_cast<std::size_t>(over->trial);
    if (is(over->trial, "stopping")) {
      trials_[trial].state = trials_[trial].later;
    } else if (is(over->trial, "running")) {
      const bool by_itself = over->end == TrialEnd::by_itself;
      const char* word = over->end == TrialEnd::failed ? "failed" : "invalid";
      trials_[trial].state = by_itself ? "succeeded" : word;
      end(trial, by_itself ? "ended" : word);
    }
  } else if (std::holds_alternative<search_event::CutShort>(event)) {
    is_started_ = is_over_ = true;
    for (std::size_t trial = 0; trial < trials_.size(); ++trial)
      if (trials_[trial].state == "waiting")
        trials_[trial].state = "stopped";
      else if (trials_[trial].state == "running")
        stop(trial, "stopped");
  }
  fill();
  std::vector<std::string> lines = decisions_;
  lines.insert(lines.end(), actions_.begin(), actions_.end());
  return lines;
}

bool Search::is(std::int64_t trial, const char* state) const {
  return trial >= 0 && trial < static_cast<std::int64_t>(trials_.size()) &&
         trials_[static_cast<std::size_t>(trial)].state == state;
}

// Those that count.
std::int64_t Search::made_in(std::size_t bracket) const {
  const bool counts_invalid =
      settings_.method == SearchMethod::grid || settings_.method == SearchMethod::tune ||
      (settings_.method == SearchMethod::single && !has_draws(json::parse(space_)));
  std::int64_t made = 0;
  for (const Trial& trial : trials_)
    if ((trial.bracket == bracket || !settings_.halves()) &&
        (counts_invalid || (trial.state != "invalid" && trial.later != "invalid")))
      ++made;
  return made;
}

void Search::make(std::size_t bracket) {
  const json space = json::parse(space_);
  const auto number = static_cast<std::int64_t>(trials_.size());
  json values;
  if (settings_.method == SearchMethod::grid) {
    const json points = grid(space);
    values = points[points.size() - 1 - trials_.size()];
  } else {
    std::int64_t point = number % (settings_.method == SearchMethod::tune ? tune_points(space) : 1);
    values = sample(space, random_, point);
  }
  for (int word = 0; word < 4; ++word) random_.word();
  const std::uint64_t seed = random_.word() & 0x7fffffff;
  Trial trial;
  trial.bracket = bracket;
  if (settings_.method == SearchMethod::tune && brackets_.size() > 1) {
    double sum = 0;
    for (const Bracket& each : brackets_) sum += std::exp(static_cast<double>(each.needs.size()));
    double rest = random_.unit() * sum;
    while (trial.bracket + 1 < brackets_.size() &&
           rest >= std::exp(static_cast<double>(brackets_[trial.bracket].needs.size())))
      rest -= std::exp(static_cast<double>(brackets_[trial.bracket++].needs.size()));
  }
  actions_.push_back(
      fmt::format("make {} bracket {} seed {} {}", number, trial.bracket, seed, values.dump()));
  trials_.push_back(trial);
}

void Search::make_next(std::size_t trial) {
  const std::size_t bracket = settings_.halves() ? trials_[trial].bracket : 0;
  if (!is_over_ && made_in(bracket) < brackets_[bracket].trials) make(bracket);
}

void Search::report(std::size_t trial, double step, double metric) {
  if (settings_.halves()) return report_to_halving(trial, step, metric);
  if (settings_.method == SearchMethod::tune && settings_.tune_asha)
    report_to_tune(trial, step, metric);
}

void Search::report_to_halving(std::size_t trial, double step, double metric) {
  Bracket& bracket = brackets_[trials_[trial].bracket];
  const double ranked = settings_.smaller_is_better ? metric : -metric;
  const std::size_t top = bracket.needs.size() - 1;
  for (std::size_t rung = trials_[trial].rung; rung <= top; ++rung) {
    if (std::floor(step) < bracket.needs[rung]) return;
    auto& list = bracket.rungs[rung];
    std::size_t index = 0;
    while (index < list.size() &&
           (std::isnan(ranked) ? true : is_behind(ranked, list[index].second)))
      ++index;
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(index), {trial, ranked});
    trials_[trial].rung = rung + 1;
    const auto best =
        std::max(1.0, std::floor(static_cast<double>(list.size()) / settings_.divisor));
    const bool stops = rung == top || static_cast<double>(index) >= best;
    decide(trial, stops, static_cast<int>(rung), step, metric, rung == top);
    if (stops) return;
  }
}

void Search::report_to_tune(std::size_t trial, double step, double metric) {
  if (step >= settings_.tune_asha->max_t) return decide(trial, true, -1, step, metric, true);
  Bracket& bracket = brackets_[trials_[trial].bracket];
  const double reward = settings_.smaller_is_better ? -metric : metric;
  for (int rung = static_cast<int>(bracket.needs.size()) - 1; rung >= 0; --rung) {
    auto& list = bracket.rungs[static_cast<std::size_t>(rung)];
    const bool is_in = std::any_of(list.begin(), list.end(),
                                   [&](const Entry& entry) { return entry.first == trial; });
    if (step < bracket.needs[static_cast<std::size_t>(rung)] || is_in) continue;
    std::vector<double> rewards;
    for (const Entry& entry : list)
      if (!std::isnan(entry.second)) rewards.push_back(entry.second);
    std::sort(rewards.begin(), rewards.end());
    bool stops = false;
    if (!rewards.empty()) {
      const double place =
          (1 - 1 / settings_.tune_asha->reduction_factor) * static_cast<double>(rewards.size() - 1);
      const auto below = static_cast<std::size_t>(std::floor(place));
      double cut = rewards[below];
      const double share = place - std::floor(place);
      if (share > 0 && rewards[below + 1] > cut)
        cut = std::isinf(cut)                  ? cut
              : std::isinf(rewards[below + 1]) ? rewards[below + 1]
              : share < 0.5                    ? cut + (rewards[below + 1] - cut) * share
                            : rewards[below + 1] - (rewards[below + 1] - cut) * (1 - share);
      stops = std::isnan(reward) || reward < cut;
    }
    list.emplace_back(trial, reward);
    return decide(trial, stops, rung, step, metric, false);
  }
}

void Search::decide(std::size_t trial, bool stops, int rung, double step, double metric,
                    bool completes) {
  decisions_.push_back(fmt::format("{} {} rung {} step {} metric {}", stops ? "stop" : "continue",
                                   trial, rung, step, std::isnan(metric) ? nan_value : metric));
  if (!stops) return;
  stop(trial, completes ? "succeeded" : "stopped");
  make_next(trial);
}

void Search::end(std::size_t trial, const char* word) {
  decisions_.push_back(fmt::format("{} {}", word, trial));
  Bracket& bracket = brackets_[trials_[trial].bracket];
  if (std::string(word) == "failed" && settings_.halves())
    bracket.rungs[trials_[trial].rung].emplace_back(trial, std::numeric_limits<double>::max());
  if (std::string(word) == "invalid")
    for (auto& rung : bracket.rungs)
      std::erase_if(rung, [&](const Entry& entry) { return entry.first == trial; });
  for (auto& rung : bracket.rungs)
    if (settings_.halves())
      std::stable_sort(rung.begin(), rung.end(), [](const Entry& a, const Entry& b) {
        return is_behind(b.second, a.second);
      });
  make_next(trial);
}

void Search::stop(std::size_t trial, const char* later) {
  trials_[trial].state = "stopping";
  trials_[trial].later = later;
  actions_.push_back(fmt::format("stop {}", trial));
}

void Search::fill() {
  std::int64_t there = 0;
  for (const Trial& trial : trials_)
    if (trial.state == "running" || trial.state == "stopping") ++there;
  for (std::size_t trial = 0; trial < trials_.size() && there < room_; ++trial)
    if (trials_[trial].state == "waiting") {
      trials_[trial].state = "running";
      actions_.push_back(fmt::format("run {}", trial));
      ++there;
    }
  if (!is_started_ || is_done_ || there > 0) return;
  is_done_ = true;
  actions_.emplace_back("done");
}

}  // namespace train::naive
