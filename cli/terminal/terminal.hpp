// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/terminal/bottom_rows.hpp"

namespace train {

/// Writes to stdout and stderr from a thread of its own, in order, so that a terminal that does not
/// read (Ctrl-S, a slow pager) never stops the event loop. The owner bounds the queue: it shows no
/// more output while this is `full`.
class Terminal {
 public:
  enum class Stream { out, err };
  /// Default limit of queued bytes.
  static constexpr std::size_t usual_capacity = 8u << 20;

  /// `on_room` is called, from the writing thread, when a full queue has been written out.
  explicit Terminal(std::function<void()> on_room, std::size_t capacity = usual_capacity);
  /// Writes the queue, then ends.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void write(Stream stream, std::string text);
  /// Shows rows below all other text if standard error is a terminal (see `BottomRows`), in place
  /// of earlier rows. An empty list removes them, as does destroying this object. While there are
  /// rows, text is written only a few times per second and must consist of whole lines.
  void show_below(std::vector<std::string> rows);
  bool full() const;
  /// Waits until everything queued so far has been written.
  void flush();
  /// Whether the reader of stdout or stderr has closed it; later output to it is dropped.
  bool closed(Stream stream) const;

 private:
  struct Piece {
    Stream stream;
    std::string text;
  };
  using Clock = std::chrono::steady_clock;
  void work();
  void gather(std::unique_lock<std::mutex>& lock);
  void write_around(const std::vector<Piece>& pieces, const std::vector<std::string>& below);
  void write_out(const std::vector<Piece>& pieces);

  std::function<void()> on_room_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::condition_variable written_;
  std::vector<Piece> queue_;
  std::vector<std::string> below_;
  bool is_below_new_ = false;
  bool is_flushed_ = false;  ///< a thread waits in `flush`
  BottomRows rows_;          ///< used by the writing thread only, like the next
  Clock::time_point drawn_at_ = {};
  std::size_t queued_bytes_ = 0;
  bool busy_ = false;
  bool was_full_ = false;
  bool ending_ = false;
  bool closed_[2] = {false, false};
  std::thread thread_;
};

}  // namespace train
