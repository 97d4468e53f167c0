// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "backends/process/descriptor.hpp"
#include "cli/commands.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "launcher/output/line_splitter.hpp"

namespace train {

namespace {

// How often a followed log is looked at.
constexpr int follow_interval_ms = 100;

// One rank's log file, read from where the last look ended. It is open only while it is read: a
// task may have more ranks than this process may have descriptors.
class LogReader {
 public:
  /// `prefix` begins every line; without one the bytes are passed on as they are.
  LogReader(std::string path, std::string prefix)
      : path_(std::move(path)), prefix_(std::move(prefix)) {}

  /// Passes on what has come since; false when nobody reads it.
  Result<bool> show_more() {
    const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return unreadable();
    char buffer[64 << 10];
    while (true) {
      const ssize_t count = ::pread(file.get(), buffer, sizeof buffer, offset_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return unreadable();
      if (count == 0) return true;
      offset_ += count;
      auto shown = show({buffer, static_cast<std::size_t>(count)});
      if (!shown || !*shown) return shown;
    }
  }
  /// Passes on a last line without a newline.
  Result<bool> end() {
    if (prefix_.empty()) return true;
    std::string text;
    lines_.end([&](std::string_view line) { add_prefixed(text, line); });
    return pass_on(text);
  }

 private:
  tl::unexpected<Error> unreadable() const {
    return fail(ErrorClass::no_input,
                fmt::format("cannot read the log '{}': {}", path_, std::strerror(errno)));
  }
  Result<bool> show(std::string_view bytes) {
    if (prefix_.empty()) return pass_on(bytes);
    std::string text;
    lines_.add(bytes, [&](std::string_view line) { add_prefixed(text, line); });
    return pass_on(text);
  }
  void add_prefixed(std::string& text, std::string_view line) const {
    text += prefix_;
    append_for_terminal(text, line);
    text += '\n';
  }

  std::string path_;
  std::string prefix_;
  off_t offset_ = 0;
  LineSplitter lines_;
};

using Readers = std::vector<LogReader>;

Result<Readers> logs_of(const TaskRecord& task, std::optional<int> rank) {
  if (rank && (*rank < 0 || *rank >= static_cast<int>(task.ranks.size())))
    return fail(ErrorClass::no_input, fmt::format("task {} has no rank {}: its ranks are 0 to {}",
                                                  task.id, *rank, task.ranks.size() - 1));
  Readers readers;
  for (const RankRecord& record : task.ranks) {
    if (rank && record.rank != *rank) continue;
    readers.emplace_back(record.log_file, rank ? std::string() : fmt::format("[{}] ", record.rank));
  }
  return readers;
}

}  // namespace

ExitCode task_logs_command(const TaskLogsFlags& flags) {
  std::signal(SIGPIPE, SIG_IGN);  // `train task logs X | head` is no failure
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  auto readers = logs_of(*task, flags.rank);
  if (!readers) return report(readers.error());
  while (true) {
    // The state is read before the logs: what a task printed before its end is all there then.
    const bool complete = !flags.follow || is_final(task->state);
    for (LogReader& reader : *readers) {
      auto shown = reader.show_more();
      if (shown && *shown && complete) shown = reader.end();
      if (!shown) return report(shown.error());
      if (!*shown) return ExitCode();  // nobody reads on, which is no failure
    }
    if (complete) return ExitCode();
    ::poll(nullptr, 0, follow_interval_ms);
    task = (*store)->find(task->id);
    if (!task) return report(task.error());
  }
}

}  // namespace train
