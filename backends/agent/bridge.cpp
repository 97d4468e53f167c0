// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/bridge.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/unsent_output.hpp"

namespace train {

namespace {

constexpr size_t buffer_size = size_t{64} << 10;

// Makes a descriptor non-blocking during its lifetime, and then restores the flags: the standard
// streams are shared with other processes.
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

// One direction of the bridge.
class Direction {
 public:
  Direction(int from, int to) : from_(from), to_(to) {}

  // Sends `bytes` before anything is read; they fit into the buffer.
  void begin_with(std::string_view bytes) {
    end_ = std::min(bytes.size(), buffer_.size());
    std::copy_n(bytes.data(), end_, buffer_.data());
  }
  std::string_view content() const { return {buffer_.data() + begin_, end_ - begin_}; }

  bool is_empty() const { return begin_ == end_; }
  bool has_ended() const { return ended_; }
  bool is_broken() const { return broken_; }
  bool wants_read() const { return is_empty() && !ended_ && !broken_; }

  // The target has no reader any more: drops the buffered bytes and reads no more.
  void set_broken() {
    broken_ = true;
    begin_ = end_ = 0;
  }

  // Returns whether bytes were read.
  bool fill() {
    if (!wants_read()) return false;
    const ssize_t count = ::read(from_, buffer_.data(), buffer_.size());
    if (count < 0 && is_passing(errno)) return false;
    begin_ = 0;
    end_ = count > 0 ? static_cast<size_t>(count) : 0;
    // An error of the source (a peer that reset the stream) is its end as well.
    ended_ = count <= 0;
    return count > 0;
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

// A descriptor without an event to wait for is passed as -1: poll would otherwise report an end of
// stream that was already handled again and again.
pollfd wait_for(int fd, short events) { return {events != 0 ? fd : -1, events, 0}; }

short events(bool read, bool write) {
  return static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0));
}

bool holds_input(int input) {
  pollfd polled{input, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN) != 0;
}

// The bytes sent to a peer that has not sent anything yet, for as long as they fit into 64 KiB.
class Unheard {
 public:
  explicit Unheard(std::string* bytes) : bytes_(bytes) {}

  void add(std::string_view bytes) {
    if (bytes_ == nullptr) return;
    if (bytes_->size() + bytes.size() > buffer_size) return set_heard();
    *bytes_ += bytes;
  }
  void set_heard() { bytes_ = nullptr; }
  bool is_whole() const { return bytes_ != nullptr; }

 private:
  std::string* bytes_;
};

bool bridge_with(int input, int output, int peer, std::string* told) {
  const NonBlocking input_mode(input);
  const NonBlocking output_mode(output);
  const NonBlocking peer_mode(peer);
  Direction forth(input, peer);
  Direction back(peer, output);
  bool told_end = false;
  Unheard unheard(told);
  if (told != nullptr) forth.begin_with(*told);
  while (true) {
    if (forth.fill()) unheard.add(forth.content());
    forth.drain();
    if (back.fill()) unheard.set_heard();
    back.drain();
    if (back.has_ended() && back.is_empty())
      return !unheard.is_whole() || forth.has_ended() || back.is_broken();
    if ((forth.has_ended() || forth.is_broken()) && forth.is_empty() && !told_end) {
      told_end = true;
      ::shutdown(peer, SHUT_WR);
    }
    if (back.is_broken() && forth.is_empty() && (!forth.wants_read() || !holds_input(input)))
      return true;
    const bool want_back = back.wants_read();
    std::array<pollfd, 3> polled = {
        wait_for(input, events(forth.wants_read(), false)),
        wait_for(peer, events(want_back, !forth.is_empty())),
        // Always watched, to notice when its reader closes.
        pollfd{back.is_broken() ? -1 : output, events(false, !back.is_empty()), 0}};
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return true;
    if ((polled[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) back.set_broken();
  }
}

}  // namespace

void bridge(int input, int output, int peer) { (void)bridge_with(input, output, peer, nullptr); }

bool bridge_unless_unheard(int input, int output, int peer, std::string& unheard) {
  return bridge_with(input, output, peer, &unheard);
}

}  // namespace train
