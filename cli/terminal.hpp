// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace train {

/// Writes to stdout and stderr from a thread of its own, in order, so that a terminal that does not
/// read (Ctrl-S, a slow pager) never stops the event loop. The owner bounds what is queued: it
/// shows no more output while this is `full`.
class Terminal {
 public:
  enum class Stream { out, err };
  /// Bytes that may be queued.
  static constexpr std::size_t usual_capacity = 8u << 20;

  /// `on_room` is called, from the writing thread, when a full queue has been written out.
  explicit Terminal(std::function<void()> on_room, std::size_t capacity = usual_capacity);
  /// Writes what is queued, then ends.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void write(Stream stream, std::string text);
  bool full() const;
  /// Waits until everything queued so far has been written.
  void flush();
  /// Whether the reader of stdout or stderr has closed it; what was written to it since was
  /// dropped.
  bool closed(Stream stream) const;

 private:
  struct Piece {
    Stream stream;
    std::string text;
  };
  void work();
  void write_out(const std::vector<Piece>& pieces);

  std::function<void()> on_room_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::condition_variable written_;
  std::vector<Piece> queue_;
  std::size_t queued_bytes_ = 0;
  bool busy_ = false;
  bool was_full_ = false;
  bool ending_ = false;
  bool closed_[2] = {false, false};
  std::thread thread_;
};

}  // namespace train
