// SPDX-License-Identifier: Apache-2.0
#include "backends/process/bridge.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "backends/posix/descriptor.hpp"

namespace train {

namespace {

constexpr size_t buffer_size = size_t{64} << 10;

// Makes a descriptor non-blocking for a while: the standard ones are shared with other processes.
class NonBlocking {
 public:
  explicit NonBlocking(int fd) : fd_(fd), flags_(::fcntl(fd, F_GETFL)) {
    if (flags_ >= 0) (void)::fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
  }
  ~NonBlocking() {
    if (flags_ >= 0) (void)::fcntl(fd_, F_SETFL, flags_);
  }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  int fd_;
  int flags_;
};

bool is_passing(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// One direction of the bridge.
class Direction {
 public:
  Direction(int from, int to) : from_(from), to_(to) {}

  bool is_empty() const { return begin_ == end_; }
  bool has_ended() const { return ended_; }
  bool is_broken() const { return broken_; }
  bool wants_read() const { return is_empty() && !ended_ && !broken_; }

  // Nobody reads the target any more: what came is dropped, and no more is read.
  void set_broken() {
    broken_ = true;
    begin_ = end_ = 0;
  }

  void fill() {
    if (!wants_read()) return;
    const ssize_t count = ::read(from_, buffer_.data(), buffer_.size());
    if (count < 0 && is_passing(errno)) return;
    begin_ = 0;
    end_ = count > 0 ? static_cast<size_t>(count) : 0;
    // An error of the source (a peer that reset the stream) is its end as well.
    ended_ = count <= 0;
  }

  void drain() {
    while (!is_empty()) {
      const ssize_t count =
          uninterrupted([&] { return ::write(to_, buffer_.data() + begin_, end_ - begin_); });
      if (count < 0 && is_passing(errno)) return;
      if (count < 0) return set_broken();
      begin_ += static_cast<size_t>(count);
    }
  }

 private:
  int from_;
  int to_;
  std::array<char, buffer_size> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
  bool broken_ = false;
};

// A descriptor without an event to wait for is left out: poll would otherwise report an end that
// was seen already again and again.
pollfd wait_for(int fd, short events) { return {events != 0 ? fd : -1, events, 0}; }

short events(bool read, bool write) {
  return static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0));
}

bool holds_input(int input) {
  pollfd polled{input, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN) != 0;
}

}  // namespace

void bridge(int input, int output, int peer) {
  const NonBlocking input_mode(input);
  const NonBlocking output_mode(output);
  const NonBlocking peer_mode(peer);
  Direction forth(input, peer);
  Direction back(peer, output);
  bool told_end = false;
  while (true) {
    forth.fill();
    forth.drain();
    back.fill();
    back.drain();
    if (back.has_ended() && back.is_empty()) return;
    if ((forth.has_ended() || forth.is_broken()) && forth.is_empty() && !told_end) {
      told_end = true;
      ::shutdown(peer, SHUT_WR);
    }
    if (back.is_broken() && forth.is_empty() && (!forth.wants_read() || !holds_input(input)))
      return;
    const bool want_back = back.wants_read();
    std::array<pollfd, 3> polled = {
        wait_for(input, events(forth.wants_read(), false)),
        wait_for(peer, events(want_back, !forth.is_empty())),
        // Always watched, for the end of its reader.
        pollfd{back.is_broken() ? -1 : output, events(false, !back.is_empty()), 0}};
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if ((polled[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) back.set_broken();
  }
}

}  // namespace train
