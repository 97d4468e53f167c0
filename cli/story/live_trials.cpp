// SPDX-License-Identifier: Apache-2.0
#include "cli/story/live_trials.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/show/task_table.hpp"
#include "cli/terminal/bottom_rows.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/search/trial_report.hpp"

namespace train {

namespace {

constexpr milliseconds soon{250};
constexpr milliseconds later{1'000};  // the table is redrawn, to update the running times

}  // namespace

void LiveTrials::made(std::int64_t trial, const std::string& hyperparameters_json) {
  known_[trial].varied = varied_values(config_.space, hyperparameters_json);
  changed();
}

void LiveTrials::begun(std::int64_t trial, std::vector<std::string> hosts, UnixMillis now) {
  const auto known = known_.find(trial);
  if (known == known_.end()) return;
  known->second.hosts = std::move(hosts);
  if (!known->second.started) known->second.started = now;
  has_begun_ = true;
  changed();
}

void LiveTrials::reported(std::int64_t trial, const std::string& report_json) {
  const auto known = known_.find(trial);
  if (known == known_.end()) return;
  const auto read =
      read_trial_report(nlohmann::json::parse(report_json, nullptr, false),
                        {config_.metric, config_.time_metric}, ++known->second.reports);
  if (read.decides()) known->second.step = read.step;
  changed();
}

void LiveTrials::ended(std::int64_t trial, UnixMillis now) {
  if (const auto known = known_.find(trial); known != known_.end()) known->second.ended = now;
  changed();
}

void LiveTrials::end() {
  has_begun_ = false;
  next_.reset();
  terminal_.show_below({});
}

void LiveTrials::forget_ended() {
  const auto best = search_.best();
  std::erase_if(known_, [&](const auto& each) {
    return each.second.ended && (!best || best->trial != each.first);
  });
}

void LiveTrials::changed() {
  if (!has_begun_ || (next_ && is_next_soon_)) return;
  is_next_soon_ = true;
  next_ =
      timers_.after(std::max(drawn_at_ + soon - timers_.now(), nanoseconds(0)), [this] { draw(); });
}

void LiveTrials::draw() {
  drawn_at_ = timers_.now();
  forget_ended();
  const auto screen = screen_of_stderr();
  terminal_.show_below(screen ? rows(now_on_the_wall(), most_bottom_rows(*screen))
                              : std::vector<std::string>());
  is_next_soon_ = false;
  next_ = timers_.after(later, [this] { draw(); });
}

TrialRow LiveTrials::row_of(std::int64_t trial, const Known& known, UnixMillis now) const {
  TrialRow row{.trial = trial,
               .state = search_.state(trial),
               .hosts = known.hosts,
               .step = known.step,
               .varied = known.varied};
  if (known.started)
    row.lasted = std::max<UnixMillis>(0, known.ended.value_or(now) - *known.started);
  if (const auto best = search_.best(trial)) row.best = best->metric;
  return row;
}

std::vector<std::string> LiveTrials::rows(UnixMillis now, std::size_t most_rows) const {
  constexpr std::size_t others = 2;  // lines for the heading and for the counts
  const auto best = search_.best();
  std::vector<TrialRow> shown;
  const auto add = [&](const auto& is_wanted) {
    for (const auto& [trial, known] : known_) {
      if (shown.size() + others >= most_rows) return;
      if (is_wanted(trial, known)) shown.push_back(row_of(trial, known, now));
    }
  };
  const auto is_best = [&](std::int64_t trial) { return best && best->trial == trial; };
  add([&](std::int64_t trial, const Known&) { return is_best(trial); });
  add([&](std::int64_t trial, const Known& known) {
    return !is_best(trial) && known.started && !known.ended;
  });
  add([&](std::int64_t trial, const Known& known) {
    return !is_best(trial) && !known.started && !known.ended;
  });
  if (shown.empty()) return {};
  std::vector<std::string> rows = split_lines(
      trials_to_table(config_, shown, best ? std::optional(best->trial) : std::nullopt));
  rows.push_back(count_trials([this](TrialState state) { return search_.count(state); }));
  return rows;
}

}  // namespace train
