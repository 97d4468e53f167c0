// SPDX-License-Identifier: Apache-2.0
#include "backends/process/worker.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr std::size_t read_size = 64u << 10;

// More than a rank's pipe holds. Draining has a limit because a process that the rank has left
// behind may print for ever.
constexpr std::size_t drain_limit = 1u << 20;

}  // namespace

Worker::Worker(Loop& loop, const SpawnedProcess& process, Events events)
    : loop_(loop),
      pid_(process.pid),
      sources_{{Descriptor(process.stdout_fd), OutputStream::out, nullptr},
               {Descriptor(process.stderr_fd), OutputStream::err, nullptr}},
      events_(std::move(events)) {
  const Descriptor not_needed(process.pidfd);  // the Subreaper reports the end
  for (Source& source : sources_) watch(source);
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

void Worker::close_pipes() {
  drain();
  for (Source& source : sources_) {
    source.readable.reset();
    source.fd.reset();
  }
}

void Worker::end(const ExitStatus& status) {
  if (std::exchange(ended_, true)) return;
  drain();
  events_.on_end(status);
}

}  // namespace train
