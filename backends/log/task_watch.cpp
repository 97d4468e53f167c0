// SPDX-License-Identifier: Apache-2.0
#include "backends/log/task_watch.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>

namespace train {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds first_pause{50};
constexpr milliseconds longest_pause{2'000};
// A rank that prints continuously wakes the caller at most this often.
constexpr milliseconds least_between_looks{50};

}  // namespace

TaskWatch::TaskWatch(const std::string& lock_file, const std::string& log_directory)
    : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), pause_(first_pause) {
  const auto watch = [this](const std::string& path, unsigned events) {
    return events_ && ::inotify_add_watch(events_.get(), path.c_str(), events) >= 0;
  };
  // The launcher holds the lock by a descriptor that is open for writing: closing it is an event.
  gets_events_ = watch(lock_file, IN_CLOSE_WRITE);
  if (!log_directory.empty())
    gets_events_ = watch(log_directory, IN_MODIFY | IN_CREATE) && gets_events_;
}

bool TaskWatch::wait(milliseconds limit, Other other) {
  const milliseconds pause = std::min(gets_events_ ? longest_pause : pause_, limit);
  const short wanted = other.to_read ? POLLIN : 0;
  pollfd waited[2] = {{events_.get(), POLLIN, 0}, {other.fd, wanted, 0}};
  const int ready = ::poll(waited, 2, static_cast<int>(pause.count()));
  pause_ = ready > 0 ? first_pause : std::min(pause_ * 2, longest_pause);
  if (ready <= 0) return false;
  if (waited[0].revents != 0) {
    // After a silence, waits only 2 ms: the bytes of a piece are followed at once by its record in
    // the index.
    const auto since_last = std::chrono::duration_cast<milliseconds>(steady_clock::now() - told_);
    const milliseconds pause_of_writer =
        std::max(milliseconds(2), least_between_looks - since_last);
    ::poll(nullptr, 0, static_cast<int>(std::min(pause_of_writer, limit).count()));
    forget_events();
    told_ = steady_clock::now();
  }
  return waited[1].revents != 0;
}

void TaskWatch::forget_events() {
  char events[4096];
  while (::read(events_.get(), events, sizeof events) > 0) continue;
}

}  // namespace train
