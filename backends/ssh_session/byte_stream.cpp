// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/byte_stream.hpp"

#include <errno.h>

#include <algorithm>
#include <cstring>

namespace train {

namespace {

constexpr std::size_t max_greeting = 200;
constexpr std::size_t read_ahead = 4096;
constexpr std::size_t max_ahead = 64u << 10;
// Many times the amount that waits while a peer reads normally.
constexpr std::size_t max_unread = 8u << 20;
constexpr std::size_t most_kept = 1u << 10;

}  // namespace

ssize_t ByteStream::receive(char* buffer, std::size_t size) {
  if (is_turn_over()) return -EAGAIN;
  const ssize_t count = receive_or_take(buffer, std::min(size, limits_.left_in_turn()));
  if (count <= 0) return count;
  const Excess excess = limits_.take({buffer, static_cast<std::size_t>(count)});
  if (excess == Excess::none) return count;
  end_for(excess);
  return -ECONNABORTED;
}

void ByteStream::log_in() {
  limits_.log_in();
  input_.shrink_to_fit();  // the greeting has been read
}

void ByteStream::end_for(Excess excess) {
  shut();
  excess_ = excess;
  error_ = ECONNABORTED;
}

ssize_t ByteStream::receive_or_take(char* buffer, std::size_t size) {
  if (taken_ < input_.size()) return static_cast<ssize_t>(take_input(buffer, size));
  if (ended_) return error_ ? -error_ : 0;
  if (size >= read_ahead) return receive_some(buffer, size);
  // libssh2 reads the greeting byte by byte.
  input_.resize(read_ahead);
  taken_ = 0;
  const ssize_t count = receive_some(input_.data(), input_.size());
  input_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return count > 0 ? static_cast<ssize_t>(take_input(buffer, size)) : count;
}

bool ByteStream::receive_ahead() {
  input_.erase(0, taken_);
  taken_ = 0;
  while (!ended_) {
    const std::size_t size = input_.size();
    if (size >= max_ahead) return false;
    input_.resize(size + read_ahead);
    const ssize_t count = receive_some(input_.data() + size, read_ahead);
    input_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count <= 0) break;
  }
  return true;
}

ssize_t ByteStream::receive_some(char* buffer, std::size_t size) {
  const ssize_t count = read_some(buffer, size);
  if (count == -EAGAIN) return count;
  if (count <= 0) {
    ended_ = true;
    error_ = static_cast<int>(-count);
    return count;
  }
  received_ += static_cast<std::size_t>(count);
  if (greeting_.size() < max_greeting)
    greeting_.append(buffer,
                     std::min(static_cast<std::size_t>(count), max_greeting - greeting_.size()));
  return count;
}

std::size_t ByteStream::take_input(char* buffer, std::size_t size) {
  const std::size_t count = std::min(size, input_.size() - taken_);
  std::memcpy(buffer, input_.data() + taken_, count);
  taken_ += count;
  return count;
}

void ByteStream::queue(const char* bytes, std::size_t size) {
  if (!ended_) output_.append(bytes, size);
  if (pending() > max_unread) end_for(Excess::unread);
}

void ByteStream::flush() {
  while (flushed_ < output_.size()) {
    const ssize_t count = write_some(output_.data() + flushed_, output_.size() - flushed_);
    if (count == -EAGAIN) break;
    flushed_ = count < 0 ? output_.size() : flushed_ + static_cast<std::size_t>(count);
  }
  // Sent bytes are removed only when they are all or more than half, so that bytes are seldom
  // moved.
  if (flushed_ == output_.size() || flushed_ > output_.size() / 2) {
    output_.erase(0, flushed_);
    flushed_ = 0;
  }
  // There may be thousands of hosts, and most of them are sent little while their ranks run.
  if (output_.empty() && output_.capacity() > most_kept) output_.shrink_to_fit();
}

void ByteStream::shut() {
  ended_ = true;
  limits_.begin_turn();  // so that `receive` reports the end
  input_.clear();
  output_.clear();
  taken_ = flushed_ = 0;
}

}  // namespace train
