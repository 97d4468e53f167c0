// SPDX-License-Identifier: Apache-2.0
#include "cli/story/search_story.hpp"

#include <fmt/format.h>

#include "cli/show/search_of_task.hpp"
#include "cli/show/task_table.hpp"
#include "cli/show/trial_table.hpp"
#include "cli/story/launch_report.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "launcher/hyperparameters/varied_values.hpp"
#include "launcher/plan/trial_place.hpp"
#include "launcher/search/trial_samples.hpp"

namespace train {

namespace {

// "host 'n2': silent for 15 s" without the host.
std::string words_without_host(const Error& why, const std::string& host) {
  std::string words = why.diagnostics.front().message;
  const std::string before = fmt::format("host '{}': ", host);
  return words.starts_with(before) ? words.substr(before.size()) : words;
}

}  // namespace

void SearchStory::print(const TerminalText& text) {
  terminal_.write(Terminal::Stream::err, talk_text(text));
}

void SearchStory::follow(const SearchDriver& driver, LaunchOutput& output) {
  driver_ = &driver;
  output_ = &output;
}

void SearchStory::show_trials(Timers& timers) {
  table_.emplace(terminal_, timers, *experiment_.search_config, driver_->search());
}

SearchDriver::Hooks SearchStory::hooks() {
  SearchDriver::Hooks hooks;
  hooks.on_made = [this](const search_action::Make& trial) { made(trial); };
  hooks.hooks_of = [this](const Plan& plan) { return hooks_of(plan); };
  hooks.on_trial_over = [this](int trial, const RunOutcome&) { over(trial); };
  hooks.on_left_out = [this](const std::string& host, const Error& why, milliseconds pause) {
    print(terminal_text("host '{}' is left out for {}: {}", host, duration_text(pause),
                        words_without_host(why, host)));
  };
  hooks.on_held = [this](int trial, const Error& why) {
    if (!waiting_.insert(trial).second || !shown_.tells_progress()) return;
    print(terminal_text("trial {} waits for slots: {}", trial, why.diagnostics.front().message));
  };
  hooks.on_report_without_step = [this](int trial) {
    const SearchConfig& config = *experiment_.search_config;
    print(
        terminal_text("warning: trial {} has reported '{}' without '{}' or 'step', the training "
                      "after which trials are compared: such reports decide nothing",
                      trial, config.metric, config.time_metric));
  };
  return hooks;
}

TaskHooks SearchStory::hooks_of_task(const Plan& first, std::function<void()> on_over) {
  TaskHooks hooks = hooks_of(first);
  hooks.on_stopping = [this](const std::string& why, bool) {
    if (!driver_->is_stopped() || task_.state == TaskState::stopping) return;
    print(TerminalText(why));
    recorder_.change(TaskState::stopping);
  };
  hooks.on_context = [this](const ContextSummary& context) { context_.named(context); };
  hooks.on_context_progress = [this](const ContextProgress& progress) {
    if (shown_.tells_progress()) context_.show_progress(progress);
  };
  hooks.on_reached = [this] { on_reached_(); };
  hooks.on_over = [this, told = std::move(on_over)] {
    if (table_) table_->end();
    told();
  };
  return hooks;
}

void SearchStory::made(const search_action::Make& trial) {
  varied_[trial.trial] =
      varied_text(varied_values(experiment_.search_config->space, trial.hyperparameters_json));
  if (table_) table_->made(trial.trial, trial.hyperparameters_json);
}

TaskHooks SearchStory::hooks_of(const Plan& plan) {
  TaskHooks hooks;
  const int number = plan.trial.trial;
  hooks.on_attempt = [this, number](int attempt, std::optional<milliseconds>) {
    if (attempt > 0) shown_.forget(number);
    output_->begin_attempt({number, attempt});
  };
  hooks.on_all_started = [this, &plan] { report_begin(plan); };
  hooks.on_note = [this](const std::string& text) { print(TerminalText(text)); };
  hooks.on_attempt_over = [this, &plan](int, const RunOutcome& outcome) {
    attempt_over(plan.trial, outcome);
  };
  hooks.on_restart = [this, number](const task_action::AnnounceRestart& restart) {
    if (restart.number == 0) return;  // it goes on elsewhere
    print(terminal_text("trial {}: {}; restart {} of {}", number, failures_[number], restart.number,
                        restart.of));
  };
  hooks.on_hang = [this, &plan](const HangReport& report) {
    for (const std::string& line : lines_of(report, plan.trial))
      print(terminal_text("trial {}: {}", plan.trial.trial, line));
  };
  hooks.on_match = [this, &plan](const LogPolicy& policy, const PolicyMatch& match) {
    print(terminal_text("trial {}: log policy '{}' has found its line, printed by rank {}",
                        plan.trial.trial, policy.title(), match.rank));
  };
  hooks.on_report = [this, number](const MetricsReport& report) {
    if (table_ && experiment_.metrics.counts(report.rank)) table_->reported(number, report.json);
  };
  hooks.on_ignored_lines = [this, number](std::uint64_t) {
    if (std::exchange(has_ignored_lines_, true)) return;
    print(
        terminal_text("warning: trial {}: a line of a metrics file ($TRAIN_METRICS_FILE) is not "
                      "counted: a report is a JSON object on a line of its own, of 16 KiB at most",
                      number));
  };
  return hooks;
}

void SearchStory::report_begin(const Plan& plan) {
  const int number = plan.trial.trial;
  const auto varied = varied_.find(number);
  const bool has_values = varied != varied_.end() && !varied->second.empty();
  if (shown_.tells_progress())
    print(terminal_text("trial {} on {}{}{}", number, summarize_hosts(host_names(plan.trial)),
                        has_values ? ": " : "", has_values ? varied->second : std::string()));
  if (table_) table_->begun(number, host_names(plan.trial), time_.now_ms().count());
  const bool is_first = !task_.started;
  if (is_first) task_.started = time_.now_ms().count();
  recorder_.change(TaskState::running);
  if (is_first) on_first_start_();
}

void SearchStory::attempt_over(const Trial& trial, const RunOutcome& outcome) {
  shown_.end(trial.trial);
  failures_[trial.trial] = describe_failure(outcome, trial, shown_);
  if (const TerminalText left = describe_leftovers(outcome, trial, task_); !left.empty())
    print(terminal_text("trial {}: {}", trial.trial, left));
}

// Example: "trial 3: stopped, loss 0.6 at step 1". If the search is refused, this is reported once
// for the whole search.
void SearchStory::over(int trial) {
  const Search& search = driver_->search();
  const TrialState state = search.state(trial);
  TerminalText line = terminal_text("trial {}: {}", trial, trial_states().row(state).name);
  if (const TerminalText& why = failures_[trial]; state == TrialState::failed && !why.empty())
    line += terminal_text(": {}", why);
  else if (const auto best = search.best(trial))
    line += terminal_text(", {} {:.6g} at step {:.15g}", experiment_.search_config->metric,
                          best->metric, best->step);
  const bool is_told = shown_.tells_progress() || state == TrialState::failed;
  if (is_told && !driver_->is_refused()) print(line);
  failures_.erase(trial);
  varied_.erase(trial);
  waiting_.erase(trial);
  output_->end_trial(trial);
  if (table_) table_->ended(trial, time_.now_ms().count());
}

TerminalText SearchStory::summary() const {
  const Search& search = driver_->search();
  TerminalText text(count_trials([&](TrialState state) { return search.count(state); }));
  const auto best = search.best();
  const SearchConfig& config = *experiment_.search_config;
  if (!best && !config.metric.empty() && !driver_->is_refused())
    text += terminal_text("\nno trial has reported '{}' as a number{}, so none is the best",
                          config.metric, with_step(config));
  if (!best) return text;
  text += terminal_text("\nbest: trial {}, {} {:.6g} at step {:.15g}", best->trial, config.metric,
                        best->metric, best->step);
  if (const auto sample = sample_of(config, best->trial)) {
    const std::string varied =
        varied_text(varied_values(config.space, sample->hyperparameters_json));
    if (!varied.empty()) text += terminal_text(": {}", varied);
  }
  return text;
}

}  // namespace train
