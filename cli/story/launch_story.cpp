// SPDX-License-Identifier: Apache-2.0
#include "cli/story/launch_story.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/posix/files.hpp"
#include "cli/show/task_table.hpp"
#include "cli/story/launch_report.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/text/duration.hpp"

namespace train {

namespace {

std::string ranks_run(std::size_t count) {
  return count == 1 ? "1 rank runs" : std::to_string(count) + " ranks run";
}

void forget_usage(RankRecord& rank) {
  rank.cpu_ms.reset();
  rank.memory.reset();
  rank.memory_peak.reset();
}

// "now", "in 0.7 s", "in 8 s".
std::string in_time(nanoseconds delay) {
  const auto tenths = std::chrono::ceil<std::chrono::duration<std::int64_t, std::deci>>(delay);
  if (tenths.count() == 0) return "now";
  if (tenths.count() % 10 == 0) return fmt::format("in {} s", tenths.count() / 10);
  return fmt::format("in {}.{} s", tenths.count() / 10, tenths.count() % 10);
}

// The beginning of a policy match in the record.
TerminalText found_by(const LogPolicy& policy) {
  return terminal_text("log policy '{}' has found its line", policy.title());
}

}  // namespace

// Policies may have equal names: then the first ones count.
std::vector<std::size_t> recorded_matches(const AttemptRecord& attempt,
                                          const std::vector<LogPolicy>& policies) {
  std::vector<std::string> lines = attempt.log_policies;
  std::vector<std::size_t> matches;
  for (std::size_t policy = 0; policy < policies.size(); ++policy) {
    const std::string begin = found_by(policies[policy]).text() + ",";
    const auto line = std::find_if(lines.begin(), lines.end(), [&](const std::string& each) {
      return each.starts_with(begin);
    });
    if (line == lines.end()) continue;
    lines.erase(line);
    matches.push_back(policy);
  }
  return matches;
}

void LaunchStory::print(const TerminalText& text) {
  terminal_.write(Terminal::Stream::err, talk_text(text));
}

TaskDriver::Hooks LaunchStory::hooks(int first_attempt, std::function<void()> on_over) {
  begin_attempt(first_attempt, time_.now_ms().count());
  const AttemptRecord& first = task_.attempts.back();
  recorded_ = {first.number, first.reports, first.ignored_lines};
  TaskDriver::Hooks hooks;
  hooks.on_attempt = [this](int attempt, std::optional<milliseconds> begun) {
    begin_attempt(attempt, begun.value_or(time_.now_ms()).count());
    on_attempt_(attempt);
  };
  hooks.on_reached = [this] { on_reached_(); };
  hooks.on_all_started = [this] { all_started(); };
  hooks.on_note = [this](const std::string& text) { print(TerminalText(text)); };
  hooks.on_stopping = [this](const std::string& why, bool is_last) {
    if (!why.empty()) print(TerminalText(why));
    if (is_last) recorder_.change(TaskState::stopping);
  };
  hooks.on_hang = [this](const HangReport& report) { ranks_hang(report); };
  hooks.on_attempt_over = [this](int, const RunOutcome& outcome) { attempt_over(outcome); };
  hooks.on_match = [this](const LogPolicy& policy, const PolicyMatch& match) {
    policy_matched(policy, match);
  };
  hooks.on_report = [this](const MetricsReport& report) { reported(report); };
  hooks.on_ignored_lines = [this](std::uint64_t lines) { lines_ignored(lines); };
  hooks.on_bound = [this](int rank, const std::vector<int>& cpus) {
    record_binding(task_.ranks[static_cast<std::size_t>(rank)], cpus);
    recorder_.write_later();
  };
  hooks.on_usage = [this](int rank, const RankUsage& usage) { used(rank, usage); };
  hooks.on_restart = [this](const task_action::AnnounceRestart& action) { restart(action); };
  hooks.on_context = [this](const ContextSummary& context) { context_.named(context); };
  hooks.on_context_progress = [this](const ContextProgress& progress) {
    if (shown_.tells_progress()) context_.show_progress(progress);
  };
  hooks.on_over = std::move(on_over);
  return hooks;
}

// The first attempt is part of the record before anything is written; later ones are recorded at
// once. An attempt begun by a previous supervisor may be in the record already.
void LaunchStory::begin_attempt(int attempt, UnixMillis begun) {
  if (task_.attempts.empty() || task_.attempts.back().number != attempt) {
    AttemptRecord& record = task_.attempts.emplace_back();
    record.number = attempt;
    record.started = begun;
    record.hosts = task_.hosts;
    for (RankRecord& rank : task_.ranks) forget_usage(rank);
    for (RankRecord& rank : task_.ranks) rank.cpus.clear();
  }
  task_.restarts = attempt;
  if (attempt == 0) return;
  shown_.forget(trial_.trial);
  for (RankRecord& rank : task_.ranks)
    rank.log_file = rank_log_file(task_.log_directory, rank.rank, attempt);
  recorder_.write();
}

void LaunchStory::all_started() {
  const int attempt = task_.attempts.back().number;
  if (attempt > 0 && shown_.tells_progress())
    print(terminal_text("attempt {}: {}", attempt, ranks_run(trial_.ranks.size())));
  const bool is_first = !task_.started;
  if (is_first) task_.started = time_.now_ms().count();
  recorder_.change(TaskState::running);
  if (is_first) on_first_start_();
}

void LaunchStory::attempt_over(const RunOutcome& outcome) {
  shown_.end();  // prints last lines without a newline
  AttemptRecord& record = task_.attempts.back();
  record.ended = time_.now_ms().count();
  record.cause = cause_line(outcome);
  failure_ = outcome.cause ? describe_failure(outcome, trial_, shown_) : TerminalText();
}

// May be called thousands of times per second.
void LaunchStory::reported(const MetricsReport& report) {
  AttemptRecord& attempt = task_.attempts.back();
  ++attempt.reports;
  if (report.rank == 0) {
    attempt.last_report = report.json;
    recorded_.has_newer_report |= attempt.number == recorded_.attempt;
  }
  recorder_.write_later();
}

// If logs have lost their oldest part, the record may count more reports than the logs contain.
void LaunchStory::counted_before(const ReportCount& counted) {
  const auto attempt =
      std::find_if(task_.attempts.begin(), task_.attempts.end(),
                   [this](const AttemptRecord& each) { return each.number == recorded_.attempt; });
  if (attempt == task_.attempts.end()) return;
  auto reports = static_cast<std::int64_t>(counted.reports);
  auto ignored = static_cast<std::int64_t>(counted.ignored);
  if (!counted.is_whole) {
    reports = std::max(reports, recorded_.reports);
    ignored = std::max(ignored, recorded_.ignored_lines);
  }
  attempt->reports += reports - recorded_.reports;
  attempt->ignored_lines += ignored - recorded_.ignored_lines;
  const bool is_newest = !recorded_.has_newer_report && !counted.last_report.empty();
  if (is_newest) attempt->last_report = counted.last_report;
  recorder_.write_later();
}

void LaunchStory::lines_ignored(std::uint64_t lines) {
  AttemptRecord& attempt = task_.attempts.back();
  const bool is_first = attempt.ignored_lines == 0;
  attempt.ignored_lines += static_cast<std::int64_t>(lines);
  recorder_.write_later();
  if (is_first)
    print(
        TerminalText("warning: a line of a metrics file ($TRAIN_METRICS_FILE) is not counted: a "
                     "report is a JSON object on a line of its own, of 16 KiB at most"));
}

// Written rarely: a live launcher answers queries itself, the record is read only after it has
// died, and it is long if there are many ranks.
void LaunchStory::used(int rank, const RankUsage& usage) {
  constexpr UnixMillis interval = 60'000;
  record_usage(task_.ranks[static_cast<std::size_t>(rank)], usage);
  const UnixMillis now = time_.now_ms().count();
  if (now - usage_recorded_ < interval && now >= usage_recorded_) return;
  usage_recorded_ = now;
  recorder_.write_later();
}

// Does not repeat the line: it is in the logs, and may be on the terminal.
void LaunchStory::policy_matched(const LogPolicy& policy, const PolicyMatch& match) {
  std::vector<std::string> follows;
  if (policy.cancels_retries) follows.emplace_back("a failure is not followed by a restart");
  if (policy.excludes_node)
    follows.emplace_back("a restart leaves the host out, if others have room");
  if (!policy.signal.empty()) follows.push_back(fmt::format("marked '{}'", policy.signal));
  const Host& host = trial_.hosts[trial_.ranks[match.rank].host].host;
  const TerminalText text =
      terminal_text("{}, printed by rank {} on '{}'{}{}", found_by(policy), match.rank, host.name,
                    follows.empty() ? "" : ": ", fmt::format("{}", fmt::join(follows, "; ")));
  print(text);
  task_.attempts.back().log_policies.push_back(text.text());
  recorder_.write();
}

// One file is enough: what an earlier attempt did is in the record in short.
void LaunchStory::ranks_hang(const HangReport& report) {
  print(terminal_text("the ranks hang: nothing has come from any for {} (hang_timeout)",
                      duration_text(report.silence)));
  for (const std::string& line : lines_of(report, trial_)) print(TerminalText(line));
  std::string text = fmt::format("attempt {} of task {}\n{}", task_.attempts.back().number,
                                 task_.id, text_of(report, trial_));
  const auto write = [file = hang_file_, text = std::move(text)] {
    constexpr mode_t only_own = 0600;
    return write_file(file, text, only_own);
  };
  recorder_.run_first(write, [this](const Result<void>& written) {
    if (!written) print(terminal_text(written.error(), 1));
  });
  print(terminal_text("what every rank did then: {}", hang_file_));
}

void LaunchStory::restart(const task_action::AnnounceRestart& restart) {
  if (!failure_.empty()) print(failure_);
  const bool is_fenced = restart.is_fenced && restart.delay >= std::chrono::milliseconds(100);
  // Without a number it goes on elsewhere, for no failure of its own.
  if (restart.number > 0)
    print(terminal_text("restart {} of {} {}{}", restart.number, restart.of, in_time(restart.delay),
                        is_fenced ? ": by then the ranks of lost hosts have ended" : ""));
  recorder_.write();
}

void LaunchStory::end(const RunOutcome& outcome) {
  if (task_.attempts.empty() || task_.attempts.back().ended) return;
  task_.attempts.back().ended = task_.ended;
  task_.attempts.back().cause = cause_line(outcome);
}

}  // namespace train
