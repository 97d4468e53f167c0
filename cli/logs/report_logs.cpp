// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/report_logs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/log/log_reader.hpp"
#include "cli/logs/logged_trials.hpp"
#include "cli/show/rank_results.hpp"
#include "cli/surroundings/time_text.hpp"
#include "launcher/output/line_splitter.hpp"
#include "launcher/report_page/report_log.hpp"

namespace train {

namespace {

// The last bytes of a log as lines, in the order of their ends.
class LogEnd {
 public:
  LogEnd(const LogDirectory& directory, const std::string& file) : reader_(directory, file) {}

  Result<void> read(std::uint64_t bytes, ReportLog& log) {
    if (auto begun = reader_.begin_at_last(bytes); !begun) return begun;
    bool is_first = true;
    while (true) {
      const auto next = reader_.peek();
      if (!next) return tl::make_unexpected(next.error());
      if (!*next) break;
      const LogRecord record = (*next)->record;
      if (std::exchange(is_first, false)) log.left_out = record.begin;
      time_us_ = record.time_us;
      const std::uint64_t missing = record.dropped + (log.lines.empty() ? 0 : (*next)->gap);
      const auto text = reader_.take();
      if (!text) return tl::make_unexpected(text.error());
      if (!*text) continue;  // it was removed meanwhile
      if (missing > 0)
        add(log, ReportLine::Source::note, fmt::format("{} bytes of output are missing", missing));
      const bool is_error = record.stream == OutputStream::err;
      (is_error ? err_ : out_).add(**text, [&](std::string_view line) {
        add(log, is_error ? ReportLine::Source::err : ReportLine::Source::out, for_terminal(line));
      });
    }
    out_.end([&](std::string_view line) { add(log, ReportLine::Source::out, for_terminal(line)); });
    err_.end([&](std::string_view line) { add(log, ReportLine::Source::err, for_terminal(line)); });
    return {};
  }

 private:
  void add(ReportLog& log, ReportLine::Source source, std::string text) {
    constexpr std::size_t from_month = 5;  // of "2026-11-24T15:50:01.250+01:00"
    constexpr std::size_t to_second = 14;
    std::string at;
    times_.append(at, time_us_);
    std::string clock = at.substr(from_month, to_second);
    std::replace(clock.begin(), clock.end(), 'T', ' ');
    log.lines.push_back({.source = source, .clock = std::move(clock), .text = std::move(text)});
  }

  LogReader reader_;
  LineSplitter out_;
  LineSplitter err_;
  MomentWriter times_;
  std::int64_t time_us_ = 0;
};

// A log that is to be read.
struct WantedLog {
  const TaskRecord* task;  ///< reduced to the trial, if it has several
  const RankRecord* rank;
  std::optional<int> trial;
  std::string ended;
  bool is_culprit = false;
};

ReportLog read_log(const WantedLog& wanted, const LogDirectory& directory, std::size_t share) {
  ReportLog log{.trial = wanted.trial,
                .rank = wanted.rank->rank,
                .host = wanted.rank->host,
                .ended = wanted.ended,
                .is_culprit = wanted.is_culprit,
                .command = "train task logs " + wanted.task->id,
                .lines = {}};
  if (wanted.trial) log.command += fmt::format(" --trial {}", *wanted.trial);
  log.command += fmt::format(" --rank {}", log.rank);
  LogEnd end(directory, wanted.rank->log_file);
  if (auto read = end.read(share, log); !read)
    log.lines.push_back({.source = ReportLine::Source::note,
                         .clock = "              ",
                         .text = in_one_line(read.error())});
  return log;
}

std::vector<WantedLog> logs_of_ranks(const TaskRecord& task, const RankRecord* culprit) {
  std::vector<WantedLog> wanted;
  for (const RankRecord& rank : task.ranks) {
    if (rank.host.empty()) continue;
    const std::string ended = how_ended(rank);
    wanted.push_back({&task, &rank, std::nullopt, ended == "-" ? "" : ended, &rank == culprit});
  }
  return wanted;
}

std::optional<TrialState> state_in(const SearchRecord* search, int trial) {
  const auto number = static_cast<std::size_t>(trial);
  if (search == nullptr || number >= search->trials.size()) return std::nullopt;
  return search->trials[number].state;
}

// A trial, and the task reduced to it.
struct LoggedTrial {
  int number;
  TaskRecord task;
};

// Failed trials first; at most as many as a page has logs.
std::vector<LoggedTrial> trials_to_read(const TaskRecord& task, const SearchRecord* search,
                                        std::vector<int> numbers) {
  std::stable_partition(numbers.begin(), numbers.end(), [search](int trial) {
    return state_in(search, trial) == TrialState::failed;
  });
  numbers.resize(std::min(numbers.size(), most_report_logs));
  std::vector<LoggedTrial> trials;
  for (const int number : numbers)
    if (auto reduced = only_trial(task, number)) trials.push_back({number, std::move(*reduced)});
  return trials;
}

std::vector<WantedLog> logs_of_trials(const std::vector<LoggedTrial>& trials,
                                      const SearchRecord* search) {
  std::vector<WantedLog> wanted;
  for (const LoggedTrial& trial : trials) {
    const auto state = state_in(search, trial.number);
    for (const RankRecord& rank : trial.task.ranks)
      wanted.push_back({&trial.task, &rank, trial.number,
                        state ? std::string(trial_states().row(*state).name) : ""});
  }
  return wanted;
}

}  // namespace

ReportLogs report_logs_of(const TaskRecord& task, const SearchRecord* search,
                          const RankRecord* culprit) {
  const std::vector<int> numbers = logged_trials(task.log_directory);
  const std::vector<LoggedTrial> trials = trials_to_read(task, search, numbers);
  std::vector<WantedLog> wanted =
      numbers.empty() ? logs_of_ranks(task, culprit) : logs_of_trials(trials, search);
  std::stable_partition(wanted.begin(), wanted.end(),
                        [](const WantedLog& log) { return log.is_culprit; });
  const std::size_t count = std::min(wanted.size(), most_report_logs);
  ReportLogs logs;
  std::optional<LogDirectory> directory;
  const TaskRecord* listed = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::exchange(listed, wanted[i].task) != wanted[i].task) {
      directory.emplace(wanted[i].task->log_directory);
      (void)directory->refresh();  // a folder that is gone has no logs
    }
    if (directory->segments_of(wanted[i].rank->log_file).empty()) continue;
    logs.logs.push_back(read_log(wanted[i], *directory, log_share(count, wanted[i].is_culprit)));
  }
  if (logs.logs.empty()) return logs;
  const bool is_search = !numbers.empty();
  logs.remark =
      fmt::format("The last lines of each rank{} in the last attempt; all: train task logs {}{}",
                  is_search ? " of each trial" : "", task.id, is_search ? " --trial N" : "");
  if (count < wanted.size() || trials.size() < numbers.size())
    logs.remark += fmt::format(". A page has at most {} logs: others are left out.", count);
  return logs;
}

std::vector<std::string> last_errors_of(const TaskRecord& task, const RankRecord& rank) {
  constexpr std::size_t most_lines = 20;
  constexpr std::uint64_t most_bytes = 16u << 10;
  LogDirectory directory(task.log_directory);
  if (auto read = directory.refresh(); !read) return {};
  const auto text = last_of_stream(directory, rank.log_file, OutputStream::err, most_bytes);
  if (!text) return {};
  Tail tail(most_lines);
  LineSplitter lines;
  const auto add = [&](std::string_view line) { tail.add(for_terminal(line)); };
  lines.add(*text, add);
  lines.end(add);
  return tail.lines();
}

}  // namespace train
