// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <unistd.h>

#include <utility>

#include "backends/posix/files.hpp"
#include "cli/talk.hpp"

namespace train {

namespace {

constexpr std::size_t longest_joined = 64u << 10;

}  // namespace

Terminal::Terminal(std::function<void()> on_room, std::size_t capacity)
    : on_room_(std::move(on_room)), capacity_(capacity), thread_([this] { work(); }) {}

Terminal::~Terminal() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wanted_.notify_one();
  thread_.join();
}

void Terminal::write(Stream stream, std::string text) {
  {
    const std::lock_guard lock(mutex_);
    queued_bytes_ += text.size();
    was_full_ = was_full_ || queued_bytes_ >= capacity_;
    // Short texts are joined, so that there are fewer writes; long ones are not copied.
    const bool extends_last = !queue_.empty() && queue_.back().stream == stream &&
                              queue_.back().text.size() + text.size() <= longest_joined;
    if (extends_last)
      queue_.back().text += text;
    else
      queue_.push_back({stream, std::move(text)});
  }
  wanted_.notify_one();
}

bool Terminal::full() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_ >= capacity_;
}

void Terminal::flush() {
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return queue_.empty() && !busy_; });
}

bool Terminal::closed(Stream stream) const {
  const std::lock_guard lock(mutex_);
  return closed_[static_cast<int>(stream)];
}

void Terminal::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::vector<Piece> pieces = std::exchange(queue_, {});
    busy_ = true;
    lock.unlock();
    write_out(pieces);
    lock.lock();
    for (const Piece& piece : pieces) queued_bytes_ -= piece.text.size();
    busy_ = false;
    written_.notify_all();
    const bool has_room = queued_bytes_ < capacity_;
    if (was_full_ && has_room) {
      was_full_ = false;
      lock.unlock();
      on_room_();
      lock.lock();
    }
  }
}

void Terminal::write_out(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    const int index = static_cast<int>(piece.stream);
    if (closed_[index]) continue;
    const int fd = piece.stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO;
    if (write_whole(fd, piece.text) == 0) continue;
    const std::lock_guard lock(mutex_);
    closed_[index] = true;
  }
}

}  // namespace train
