// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "backends/posix/files.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

constexpr std::size_t longest_joined = 64u << 10;
// Minimum interval between redraws of the bottom rows, unless there is much to write.
constexpr std::chrono::milliseconds between_drawings{200};
constexpr std::size_t much = 1u << 20;

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
    // Joins short texts to reduce the number of writes; long ones are not copied.
    const bool extends_last = !queue_.empty() && queue_.back().stream == stream &&
                              queue_.back().text.size() + text.size() <= longest_joined;
    if (extends_last)
      queue_.back().text += text;
    else
      queue_.push_back({stream, std::move(text)});
  }
  wanted_.notify_one();
}

void Terminal::show_below(std::vector<std::string> rows) {
  {
    const std::lock_guard lock(mutex_);
    if (rows == below_) return;
    below_ = std::move(rows);
    is_below_new_ = true;
  }
  wanted_.notify_one();
}

bool Terminal::full() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_ >= capacity_;
}

void Terminal::flush() {
  std::unique_lock lock(mutex_);
  is_flushed_ = true;
  wanted_.notify_one();
  written_.wait(lock, [this] { return queue_.empty() && !is_below_new_ && !busy_; });
  is_flushed_ = false;
}

bool Terminal::closed(Stream stream) const {
  const std::lock_guard lock(mutex_);
  return closed_[static_cast<int>(stream)];
}

void Terminal::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return ending_ || !queue_.empty() || is_below_new_; });
    gather(lock);
    if (ending_) below_.clear();
    const std::vector<Piece> pieces = std::exchange(queue_, {});
    const std::vector<std::string> below = below_;
    is_below_new_ = false;
    busy_ = true;
    lock.unlock();
    write_around(pieces, below);
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
    if (ending_ && queue_.empty()) return;
  }
}

// Freshly drawn rows stay for a while, so that text is written in batches.
void Terminal::gather(std::unique_lock<std::mutex>& lock) {
  if (!rows_.is_drawn()) return;
  wanted_.wait_until(lock, drawn_at_ + between_drawings, [this] {
    return ending_ || is_flushed_ || below_.empty() || queued_bytes_ >= std::min(much, capacity_);
  });
}

void Terminal::write_around(const std::vector<Piece>& pieces,
                            const std::vector<std::string>& below) {
  if (!rows_.is_drawn() && below.empty()) return write_out(pieces);
  const auto screen = screen_of_stderr();
  if (std::string text = rows_.taken_away(screen); !text.empty())
    write_out({{Stream::err, std::move(text)}});
  write_out(pieces);
  if (below.empty() || !screen) return;
  write_out({{Stream::err, rows_.drawn(below, *screen)}});
  drawn_at_ = Clock::now();
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
