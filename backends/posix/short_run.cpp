// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/short_run.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "backends/posix/files.hpp"
#include "config_schema/text/duration.hpp"

namespace train {

namespace {

using Clock = std::chrono::steady_clock;

/// A child and its output. The destructor kills the child.
class ShortRun {
 public:
  ShortRun(ConnectedProcess process, milliseconds limit, std::size_t most_output)
      : process_(std::move(process)), deadline_(Clock::now() + limit), most_output_(most_output) {}
  ~ShortRun() { end_connected(process_); }
  ShortRun(const ShortRun&) = delete;
  ShortRun& operator=(const ShortRun&) = delete;

  // Reads until the child has closed its output and ended; false at the limit. Does not wait for
  // the end of its standard error, which descendants of the child may keep open.
  bool finish() {
    bool is_open = true;
    bool has_errors = true;
    while (is_open) {
      pollfd streams[2] = {{process_.stream.get(), POLLIN, 0},
                           {has_errors ? process_.errors.get() : -1, POLLIN, 0}};
      const int left = milliseconds_left();
      if (left <= 0) return false;
      if (::poll(streams, 2, left) <= 0) continue;
      if (streams[0].revents != 0) is_open = read(process_.stream, output_);
      if (streams[1].revents != 0) has_errors = read(process_.errors, errors_);
    }
    if (!has_ended(process_.pidfd, milliseconds_left())) return false;
    while (has_errors && is_readable(process_.errors)) has_errors = read(process_.errors, errors_);
    return true;
  }
  // Reaps the child, which has ended.
  ExitStatus collect() {
    const auto status = reap(process_.pidfd.get(), Instant{0});
    process_.pid = -1;
    return status && *status ? **status : ExitStatus();
  }
  std::string& output() { return output_; }
  std::string last_words() const {
    std::string_view text = errors_;
    while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
    return std::string(text.substr(text.rfind('\n') + 1));
  }

 private:
  int milliseconds_left() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(0, left.count()));
  }
  static bool is_readable(const Descriptor& from) {
    pollfd stream{from.get(), POLLIN, 0};
    return ::poll(&stream, 1, 0) > 0;
  }
  // Drops bytes beyond `most_output_`; false at the end of the stream.
  bool read(const Descriptor& from, std::string& into) const {
    char buffer[4'096];
    const ssize_t count = read_some(from.get(), buffer, sizeof buffer);
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    const std::size_t room = most_output_ - std::min(into.size(), most_output_);
    into.append(buffer, std::min(static_cast<std::size_t>(count), room));
    return count > 0;
  }

  ConnectedProcess process_;
  Clock::time_point deadline_;
  std::size_t most_output_;
  std::string output_;
  std::string errors_;
};

}  // namespace

Result<std::string> run_shortly(const ProgramCall& call, milliseconds limit,
                                std::size_t most_output, std::string_view input) {
  auto started = start_connected(call);
  if (!started) return tl::make_unexpected(started.error());
  // The buffer of the socket takes it at once. A program that has ended already needs none.
  (void)::send(started->stream.get(), input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)::shutdown(started->stream.get(), SHUT_WR);
  ShortRun run(std::move(*started), limit, most_output);
  if (!run.finish())
    return fail(ErrorClass::host,
                fmt::format("it has not ended within {}", short_duration_text(limit)));
  const ExitStatus status = run.collect();
  if (status.code == 0) return std::move(run.output());
  const std::string words = run.last_words();
  const std::string how = status.signal
                              ? fmt::format("it was ended by signal {}", *status.signal)
                              : fmt::format("it ended with code {}", status.code.value_or(-1));
  return fail(ErrorClass::host, words.empty() ? how : fmt::format("{}: {}", how, words));
}

}  // namespace train
