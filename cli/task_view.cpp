// SPDX-License-Identifier: Apache-2.0
#include "cli/task_view.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "backends/log/log_reader.hpp"
#include "backends/log/task_watch.hpp"
#include "backends/store/launcher_lock.hpp"
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
  RankLog(const LogDirectory& directory, int rank, const std::string& file, std::string prefix)
      : rank_(rank), file_(file), reader_(directory, file), prefix_(std::move(prefix)) {}

  Result<void> begin_at_last(std::uint64_t bytes) { return reader_.begin_at_last(bytes); }
  Result<std::optional<LogReader::Next>> peek() { return reader_.peek(); }

  /// Appends the piece that `peek` showed.
  Result<void> append_next(const LogReader::Next& next, std::string& text) {
    const auto bytes = reader_.take();
    if (!bytes) return tl::make_unexpected(bytes.error());
    if (!*bytes) return {};
    if (next.gap > 0) append_gap(fmt::format("{} bytes of output are not kept", next.gap), text);
    if (next.record.dropped > 0) {
      append_gap(
          fmt::format("{} bytes of output were dropped for want of room", next.record.dropped),
          text);
      return {};
    }
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
  void append_gap(const std::string& said, std::string& text) {
    for (LineSplitter* lines : {&out_, &err_})
      lines->end([&](std::string_view line) { append_line(line, text); });
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

  /// Of this attempt, and of none that was opened before.
  Result<void> open(const TaskRecord& task, std::optional<int> rank, int attempt) {
    if (rank && (*rank < 0 || *rank >= static_cast<int>(task.ranks.size())))
      return fail(ErrorClass::no_input, fmt::format("task {} has no rank {}: its ranks are 0 to {}",
                                                    task.id, *rank, task.ranks.size() - 1));
    logs_.clear();
    for (const RankRecord& record : task.ranks) {
      if (rank && record.rank != *rank) continue;
      logs_.emplace_back(directory_, record.rank, log_of(task, record, attempt),
                         rank ? std::string() : fmt::format("[{}] ", record.rank));
    }
    return {};
  }

  /// Begins each log where the last of it begins that a screen can have: nothing was printed yet.
  Result<void> begin_at_last() {
    constexpr std::uint64_t most = 8u << 20;
    constexpr std::uint64_t of_rank = 256u << 10;
    constexpr std::uint64_t least_of_rank = 4u << 10;
    if (auto refreshed = directory_.refresh(); !refreshed) return refreshed;
    const std::uint64_t share = most / std::max<std::size_t>(1, logs_.size());
    for (RankLog& log : logs_)
      if (auto begun = log.begin_at_last(std::clamp(share, least_of_rank, of_rank)); !begun)
        return begun;
    return {};
  }

  /// Takes text; false when nobody reads it.
  using Sink = std::function<Result<bool>(std::string_view text)>;

  /// Prints what is there now and was not printed before, in the order of its times; false when
  /// nobody reads it.
  Result<bool> print_new(const Sink& sink = pass_on) {
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
      if (auto passed = sink(text); !passed || !*passed) return passed;
      text.clear();
    }
    return sink(text);
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

  // The record has the files of the last attempt; an earlier train wrote other names.
  static std::string log_of(const TaskRecord& task, const RankRecord& rank, int attempt) {
    if (attempt == task.restarts) return rank.log_file;
    return rank_log_file(task.log_directory, rank.rank, attempt);
  }

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

// As many lines as a screen has, one of them for what is said of the view.
int screen_lines() {
  constexpr int usual = 24;
  winsize size{};
  const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2;
  return (is_known ? size.ws_row : usual) - 2;
}

// The last screenful of all that is there.
Result<bool> print_last_screen(TaskLogs& logs) {
  constexpr std::size_t most_kept = 256u << 10;
  std::string kept;
  const auto keep = [&](std::string_view text) -> Result<bool> {
    kept += text;
    if (kept.size() > 2 * most_kept) kept.erase(0, kept.size() - most_kept);
    return true;
  };
  if (auto begun = logs.begin_at_last(); !begun) return tl::make_unexpected(begun.error());
  if (auto read = logs.print_new(keep); !read) return read;
  std::size_t begin = kept.size();
  for (int lines = screen_lines(); lines > 0 && begin > 0; --lines) {
    const std::size_t newline = begin < 2 ? std::string::npos : kept.rfind('\n', begin - 2);
    begin = newline == std::string::npos ? 0 : newline + 1;
  }
  return pass_on(std::string_view(kept).substr(begin));
}

}  // namespace

Result<bool> print_attempt(const TaskViewing& viewing, SqliteTaskStore& store, TaskRecord& task,
                           int attempt) {
  const std::string lock_file = store.lock_file(task.id);
  TaskLogs logs(task.log_directory);
  if (const auto opened = logs.open(task, viewing.rank, attempt); !opened)
    return tl::make_unexpected(opened.error());
  TaskWatch watch(lock_file, task.log_directory);
  const std::string next_file = rank_log_file(task.log_directory, 0, attempt + 1);
  bool is_first = true;
  while (true) {
    // The state is read before the logs: what a task printed before its end is all there then.
    const bool has_ended = is_final(task.state) || attempt < task.restarts;
    const bool is_complete = !viewing.follow || has_ended || task.is_unattended;
    const bool is_last_screen = std::exchange(is_first, false) && viewing.only_last_screen;
    auto printed = is_last_screen ? print_last_screen(logs) : logs.print_new();
    if (printed && *printed && is_complete) printed = logs.print_end(has_ended);
    if (!printed || !*printed || is_complete) return printed;  // nobody reads on: no failure
    if (watch.wait(longest_silence, {STDOUT_FILENO, false})) return false;
    // The record is final when the launcher has let go of its lock, and not before; it changes as
    // well when another attempt has begun.
    if (::access(next_file.c_str(), F_OK) != 0 && probe_launcher(lock_file) == LauncherSign::alive)
      continue;
    auto found = store.find(task.id);
    if (!found) return tl::make_unexpected(found.error());
    task = std::move(*found);
  }
}

}  // namespace train
