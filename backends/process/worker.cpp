// SPDX-License-Identifier: Apache-2.0
#include "backends/process/worker.hpp"

#include <unistd.h>

#include <cerrno>

#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr std::size_t read_size = 64u << 10;

// More than a rank's pipe holds. A process that the rank has left behind may print for ever, so
// even "all that is there now" has a limit.
constexpr std::size_t drain_limit = 1u << 20;

}  // namespace

Worker::Worker(Loop& loop, const SpawnedProcess& process, Events events)
    : loop_(loop),
      pid_(process.pid),
      pidfd_(process.pidfd),
      sources_{{Descriptor(process.stdout_fd), OutputStream::out, nullptr},
               {Descriptor(process.stderr_fd), OutputStream::err, nullptr}},
      events_(std::move(events)) {
  for (Source& source : sources_) watch(source);
  end_ = loop_.when_readable(pidfd_.get(), [this] { collect(); });
}

void Worker::watch(Source& source) {
  source.readable = loop_.when_readable(source.fd.get(), [this, &source] {
    // One piece at a time, so that ranks take turns.
    read(source, read_size);
  });
}

bool Worker::read(Source& source, std::size_t limit) {
  char buffer[read_size];
  std::size_t total = 0;
  while (source.fd && total < limit) {
    const ssize_t count = read_some(source.fd.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (count <= 0) {
      source.readable.reset();
      source.fd.reset();
      return false;
    }
    total += static_cast<std::size_t>(count);
    events_.on_output(source.stream, {buffer, static_cast<std::size_t>(count)});
  }
  return static_cast<bool>(source.fd);
}

void Worker::pause_reading() {
  paused_ = true;
  for (Source& source : sources_) source.readable.reset();
}

void Worker::resume_reading() {
  paused_ = false;
  for (Source& source : sources_)
    if (source.fd && !source.readable) watch(source);
}

void Worker::drain() {
  for (Source& source : sources_) read(source, drain_limit);
}

void Worker::collect() {
  if (ended_) return;
  const auto status = reap(pidfd_.get(), loop_.now());
  if (status && !*status) return;
  ended_ = true;
  end_.reset();
  drain();
  // When somebody else has collected the child, nobody knows how it ended: it counts as killed.
  events_.on_end(status ? **status : ExitStatus{.code = {}, .signal = 9, .at = loop_.now()});
}

}  // namespace train
