// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/adopted_logs.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "backends/log/log_end.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

// Bytes for the last lines of a rank in a report, each cut at 500 bytes; and a limit for all ranks
// together, which is lower if there are very many.
constexpr std::uint64_t longest_report = 16u << 10;
constexpr std::uint64_t most_reported = 64u << 20;

std::uint64_t share_of_rank(std::uint64_t all, int ranks) {
  return all / static_cast<std::uint64_t>(std::max(1, ranks));
}

// Output may have been logged just before the previous launcher died, without the policy match in
// it being recorded: the gap is milliseconds. Limits for all ranks together, and for each rank.
constexpr std::uint64_t most_looked_at = 8u << 20;
constexpr std::uint64_t least_looked_at = 32u << 10;

std::string in_short(const Error& why) { return why.diagnostics.front().message; }

}  // namespace

std::vector<OutputChunk> last_output(const std::string& log_directory, int ranks, int attempt,
                                     const ExperimentConfig& experiment) {
  const std::uint64_t of_rank = std::max(least_looked_at, share_of_rank(most_looked_at, ranks));
  const bool is_printed_wanted =
      !experiment.log_policies.empty() || !experiment.metrics.patterns.empty();
  std::vector<OutputChunk> all;
  std::optional<Error> trouble;
  const auto add = [&](Result<std::vector<OutputChunk>> chunks) {
    if (chunks)
      std::move(chunks->begin(), chunks->end(), std::back_inserter(all));
    else
      trouble = chunks.error();
  };
  LogDirectory folder(log_directory);
  if (const auto read = folder.refresh(); !read) trouble = read.error();
  for (int rank = 0; rank < ranks; ++rank) {
    add(unfinished_report(folder, metrics_log_file(log_directory, rank, attempt), rank));
    if (is_printed_wanted)
      add(last_printed(folder, rank_log_file(log_directory, rank, attempt), rank, of_rank));
  }
  if (trouble)
    talk(terminal_text("warning: a line that a rank had not ended may be missed: {}",
                       in_short(*trouble)));
  return all;
}

LastErrors last_errors(const std::string& log_directory, int attempt, int ranks) {
  const std::uint64_t of_rank = std::min(longest_report, share_of_rank(most_reported, ranks));
  LastErrors errors;
  LogDirectory folder(log_directory);
  if (const auto read = folder.refresh(); !read) errors.trouble = read.error();
  for (int rank = 0; !errors.trouble && rank < ranks; ++rank) {
    auto last = last_of_stream(folder, rank_log_file(log_directory, rank, attempt),
                               OutputStream::err, of_rank);
    if (last)
      errors.of_ranks.push_back(std::move(*last));
    else
      errors.trouble = last.error();
  }
  return errors;
}

AdoptedLogs::AdoptedLogs(Loop& loop, const TaskRecord& task, Print print)
    : loop_(loop),
      task_(task),
      print_(std::move(print)),
      background_(loop, Background::Idle::goes) {}

void AdoptedLogs::count_reports(int attempt, LogEnds ends, std::vector<std::string> patterns,
                                std::function<void(const ReportCount& counted)> on_counted) {
  const auto counted = std::make_shared<Result<ReportCount>>();
  const auto started = background_.run(
      [directory = task_.log_directory, attempt, ends = std::move(ends),
       patterns = std::move(patterns), is_unwanted = is_unwanted_, counted] {
        *counted = train::count_reports(directory, attempt, ends, patterns, *is_unwanted);
      },
      [this, counted, on_counted = std::move(on_counted)] {
        is_counting_ = false;
        if (*counted)
          on_counted(**counted);
        else
          report_uncounted(terminal_text("{}", in_short(counted->error())));
        if (is_finishing_) loop_.stop();
      });
  is_counting_ = started.has_value();
  if (!started) report_uncounted(terminal_text("{}", in_short(started.error())));
}

void AdoptedLogs::finish(nanoseconds limit) {
  if (!is_counting_) return;
  is_finishing_ = true;
  const auto deadline = loop_.after(limit, [this] { loop_.stop(); });
  loop_.run();
  is_finishing_ = false;
  if (is_counting_)
    report_uncounted(
        terminal_text("they take longer than {} s to count", limit / std::chrono::seconds(1)));
}

void AdoptedLogs::report_uncounted(const TerminalText& why) const {
  print_(terminal_text("some reports of metrics files may be missing in what is counted: {}", why));
}

}  // namespace train
