// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "cli/commands.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "launcher/output/line_splitter.hpp"

namespace train {

namespace {

// How often a followed log is looked at.
constexpr int follow_interval_ms = 100;

// One rank's log file, read from where the last look ended.
class LogReader {
 public:
  /// `prefix` begins every line; without one the bytes are passed on as they are.
  LogReader(const std::string& path, std::string prefix)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)), prefix_(std::move(prefix)) {}
  ~LogReader() {
    if (fd_ >= 0) ::close(fd_);
  }
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  bool is_open() const { return fd_ >= 0; }

  // Passes on what has come since.
  Answered pass_on() {
    char buffer[64 << 10];
    while (true) {
      const ssize_t count = ::read(fd_, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return Answered::yes;
      const Answered shown = show({buffer, static_cast<std::size_t>(count)});
      if (shown != Answered::yes) return shown;
    }
  }
  Answered end() { return prefix_.empty() ? Answered::yes : answer(prefixed(lines_.end())); }

 private:
  Answered show(std::string_view bytes) {
    return answer(prefix_.empty() ? std::string(bytes) : prefixed(lines_.add(bytes)));
  }
  std::string prefixed(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += prefix_ + for_terminal(line) + '\n';
    return text;
  }

  int fd_;
  std::string prefix_;
  LineSplitter lines_;
};

using Readers = std::vector<std::unique_ptr<LogReader>>;

Result<Readers> open_logs(const TaskRecord& task, std::optional<int> rank) {
  if (rank && (*rank < 0 || *rank >= static_cast<int>(task.ranks.size())))
    return fail(ErrorClass::no_input, fmt::format("task {} has no rank {}: its ranks are 0 to {}",
                                                  task.id, *rank, task.ranks.size() - 1));
  Readers readers;
  for (const RankRecord& record : task.ranks) {
    if (rank && record.rank != *rank) continue;
    readers.push_back(std::make_unique<LogReader>(
        record.log_file, rank ? std::string() : fmt::format("[{}] ", record.rank)));
    if (!readers.back()->is_open())
      return fail(ErrorClass::no_input, fmt::format("cannot read the log '{}': {}", record.log_file,
                                                    std::strerror(errno)));
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
  auto readers = open_logs(*task, flags.rank);
  if (!readers) return report(readers.error());
  while (true) {
    // The state is read before the logs: what a task printed before its end is all there then.
    const bool complete = !flags.follow || is_final(task->state);
    for (const auto& reader : *readers)
      if (const Answered passed = reader->pass_on(); passed != Answered::yes)
        return code_of(passed);
    if (complete) break;
    ::poll(nullptr, 0, follow_interval_ms);
    task = (*store)->find(task->id);
    if (!task) return report(task.error());
  }
  for (const auto& reader : *readers)
    if (const Answered ended = reader->end(); ended != Answered::yes) return code_of(ended);
  return ExitCode();
}

}  // namespace train
