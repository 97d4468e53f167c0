// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/log/log_sink.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

/// Writes down what ranks print, from a thread beside the loop: a disk that does not answer stops
/// neither heartbeats nor signals. The owner bounds what waits to be written: it lets hosts send
/// more only when pieces have been written.
class LogWriter {
 public:
  struct Timing {
    milliseconds look{1'000};        ///< how often to look at a write that has not ended
    milliseconds stall{10'000};      ///< the user is told of one that takes longer
    milliseconds last_stall{5'000};  ///< at the end, one that takes longer is given up
  };
  struct Hooks {
    std::function<void()> on_written;                   ///< `written` has grown
    std::function<void(const TerminalText& said)> say;  ///< for the user
  };

  /// `place` is where the logs are, for people.
  LogWriter(Loop& loop, std::shared_ptr<LogSink> sink, std::string place, Hooks hooks,
            Timing timing);
  LogWriter(Loop& loop, std::shared_ptr<LogSink> sink, std::string place, Hooks hooks)
      : LogWriter(loop, std::move(sink), std::move(place), std::move(hooks), Timing()) {}
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Takes a piece; it is number 1, 2, ... of all that were taken.
  std::uint64_t write(LogPiece piece);
  /// Pieces up to this number have been written, or are lost.
  std::uint64_t written() const { return written_; }

  /// The ranks are being stopped: from now on a write that takes too long is given up, with all
  /// that waits behind it, so that it does not keep the task from ending.
  void expect_end();
  /// Runs the loop until everything is written or given up, then says what was lost.
  void finish();

 private:
  struct Batch {
    std::vector<LogPiece> pieces;
    std::uint64_t bytes = 0;
    std::uint64_t lost = 0;
    std::string trouble;
  };
  // A small part of what a host may send without acknowledgement, so that it goes on sending.
  static constexpr std::uint64_t longest_batch = 128u << 10;

  void begin();
  void ended(const Batch& batch);
  void look();
  void give_up();
  void say_trouble(const TerminalText& trouble);

  Loop& loop_;
  std::shared_ptr<LogSink> sink_;
  std::string place_;
  Hooks hooks_;
  Timing timing_;
  Background background_;
  std::deque<std::shared_ptr<Batch>> waiting_;
  std::shared_ptr<Batch> current_;  ///< what the thread writes
  std::uint64_t taken_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t lost_bytes_ = 0;
  nanoseconds stalled_for_{0};  ///< of the stall that was said
  bool has_said_trouble_ = false;
  bool end_is_near_ = false;
  bool is_finishing_ = false;
  bool has_given_up_ = false;
  std::unique_ptr<Subscription> look_;
};

}  // namespace train
