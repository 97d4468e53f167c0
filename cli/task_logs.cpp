// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <queue>

#include "backends/log/log_reader.hpp"
#include "backends/log/task_watch.hpp"
#include "backends/store/launcher_lock.hpp"
#include "cli/commands.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "launcher/output/line_splitter.hpp"

namespace train {

namespace {

// How long to wait at most, without any event, before the state of a followed task is read again.
constexpr std::chrono::milliseconds longest_silence{2'000};
constexpr std::size_t much_text = 256u << 10;

// What is printed of one rank.
class RankLog {
 public:
  /// `prefix` begins every line; without one the bytes are passed on as they are.
  RankLog(const LogDirectory& directory, const RankRecord& rank, std::string prefix)
      : rank_(rank.rank),
        file_(rank.log_file),
        reader_(directory, rank.log_file),
        prefix_(std::move(prefix)) {}

  Result<std::optional<LogReader::Next>> peek() { return reader_.peek(); }

  /// Appends the piece that `peek` showed.
  Result<void> append_next(const LogReader::Next& next, std::string& text) {
    const auto bytes = reader_.take();
    if (!bytes) return tl::make_unexpected(bytes.error());
    if (!*bytes) return {};
    if (next.gap > 0) append_gap(next.gap, text);
    if (prefix_.empty()) {
      text += **bytes;
      return {};
    }
    LineSplitter& lines = next.record.stream == OutputStream::out ? out_ : err_;
    lines.add(**bytes, [&](std::string_view line) { append_line(line, text); });
    return {};
  }
  /// Appends last lines without a newline.
  void append_end(std::string& text, bool has_ended) {
    for (LineSplitter* lines : {&out_, &err_})
      lines->end([&](std::string_view line) { append_line(line, text); });
    if (!has_ended) return;
    if (const auto unread = reader_.bytes_without_record(); unread > 0)
      talk(
          terminal_text("warning: {} bytes at the end of '{}' are not shown: the launcher ended "
                        "while it wrote them",
                        unread, file_));
  }

 private:
  void append_line(std::string_view line, std::string& text) const {
    if (prefix_.empty()) return;
    text += prefix_;
    append_for_terminal(text, line);
    text += '\n';
  }
  void append_gap(std::uint64_t gap, std::string& text) {
    for (LineSplitter* lines : {&out_, &err_})
      lines->end([&](std::string_view line) { append_line(line, text); });
    const std::string said = fmt::format("{} bytes of output are not kept", gap);
    if (prefix_.empty())
      talk(terminal_text("rank {}: {} here", rank_, said));
    else
      text += fmt::format("{}... {} ...\n", prefix_, said);
  }

  int rank_;
  std::string file_;
  LogReader reader_;
  std::string prefix_;
  LineSplitter out_;
  LineSplitter err_;
};

// The logs of a task, or of one rank of it, as one.
class TaskLogs {
 public:
  explicit TaskLogs(const std::string& directory) : directory_(directory) {}

  Result<void> open(const TaskRecord& task, std::optional<int> rank) {
    if (rank && (*rank < 0 || *rank >= static_cast<int>(task.ranks.size())))
      return fail(ErrorClass::no_input, fmt::format("task {} has no rank {}: its ranks are 0 to {}",
                                                    task.id, *rank, task.ranks.size() - 1));
    for (const RankRecord& record : task.ranks) {
      if (rank && record.rank != *rank) continue;
      logs_.emplace_back(directory_, record,
                         rank ? std::string() : fmt::format("[{}] ", record.rank));
    }
    return {};
  }

  /// Prints what is there now and was not printed before, in the order of its times; false when
  /// nobody reads it.
  Result<bool> print_new() {
    if (auto refreshed = directory_.refresh(); !refreshed)
      return tl::make_unexpected(refreshed.error());
    for (std::size_t log = 0; log < logs_.size(); ++log)
      if (auto next = enqueue(log); !next) return tl::make_unexpected(next.error());
    std::string text;
    while (!next_.empty()) {
      const auto [time, log, piece] = next_.top();
      next_.pop();
      auto appended = logs_[log].append_next(piece, text);
      if (appended) appended = enqueue(log);
      if (!appended) return tl::make_unexpected(appended.error());
      if (text.size() < much_text) continue;
      if (auto passed = pass_on(text); !passed || !*passed) return passed;
      text.clear();
    }
    return pass_on(text);
  }
  /// Prints last lines without a newline. Of a task that `has_ended`, says what cannot be shown.
  Result<bool> print_end(bool has_ended) {
    std::string text;
    for (RankLog& log : logs_) log.append_end(text, has_ended);
    return pass_on(text);
  }

 private:
  struct Waiting {
    std::int64_t time_us = 0;
    std::size_t log = 0;
    LogReader::Next piece;

    bool operator>(const Waiting& other) const {
      return std::pair(time_us, log) > std::pair(other.time_us, other.log);
    }
  };

  Result<void> enqueue(std::size_t log) {
    auto next = logs_[log].peek();
    if (!next) return tl::make_unexpected(next.error());
    if (*next) next_.push({(*next)->record.time_us, log, **next});
    return {};
  }

  LogDirectory directory_;
  std::vector<RankLog> logs_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> next_;
};

}  // namespace

ExitCode task_logs_command(const TaskLogsFlags& flags) {
  std::signal(SIGPIPE, SIG_IGN);  // `train task logs X | head` is no failure
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  const std::string lock_file = (*store)->lock_file(task->id);
  TaskLogs logs(task->log_directory);
  if (const auto opened = logs.open(*task, flags.rank); !opened) return report(opened.error());
  TaskWatch watch(lock_file, task->log_directory);
  while (true) {
    // The state is read before the logs: what a task printed before its end is all there then.
    const bool is_complete = !flags.follow || is_final(task->state);
    auto printed = logs.print_new();
    if (printed && *printed && is_complete) printed = logs.print_end(is_final(task->state));
    if (!printed) return report(printed.error());
    if (!*printed || is_complete) return ExitCode();  // nobody reads on, which is no failure
    if (watch.wait(longest_silence, {STDOUT_FILENO, false})) return ExitCode();
    // The record is final when the launcher has let go of its lock, and not before.
    if (probe_launcher(lock_file) == LauncherSign::alive) continue;
    task = (*store)->find(task->id);
    if (!task) return report(task.error());
  }
}

}  // namespace train
