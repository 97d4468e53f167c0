// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/log/log_sink.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

/// Writes the output of ranks from a thread beside the loop, and syncs it from another: a disk that
/// hangs blocks neither heartbeats nor signals, and a slow sync does not block writing. The owner
/// bounds what waits to be written: it lets hosts send more only when pieces have been written.
///
/// A write to a full disk is retried until it succeeds, so nothing is lost as long as the hosts
/// have room for later output.
class LogWriter {
 public:
  struct Timing {
    milliseconds look{1'000};        ///< interval of checks of a write that has not returned
    milliseconds stall{10'000};      ///< a write that takes longer is reported to the user
    milliseconds last_stall{5'000};  ///< at the end, a write that takes longer is given up
    milliseconds sync{1'000};        ///< the longest delay between a write and its sync
  };
  struct Hooks {
    std::function<void()> on_written;                     ///< `written` or `synced` has grown
    std::function<void(const TerminalText& said)> print;  ///< shows a message to the user
    /// Asked on the writing thread before a piece, if some time has passed since it was last asked:
    /// this process may have been frozen meanwhile. False means that another process has adopted
    /// the logs: nothing is written from then on, and `written` does not grow any more.
    std::function<bool()> may_write = [] { return true; };
    std::function<void()> on_refused = [] {};  ///< called once, when `may_write` was false
  };

  /// `place` is the location of the logs, for messages.
  LogWriter(Loop& loop, std::shared_ptr<LogSink> sink, std::string place, Hooks hooks,
            Timing timing);
  LogWriter(Loop& loop, std::shared_ptr<LogSink> sink, std::string place, Hooks hooks)
      : LogWriter(loop, std::move(sink), std::move(place), std::move(hooks), Timing()) {}
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Takes a piece, and returns its number, counted from 1.
  std::uint64_t write(LogPiece piece);
  /// Pieces up to this number have been written and outlast this process, or are lost.
  std::uint64_t written() const { return written_; }
  /// Pieces up to this number are on the disk and outlast a crash of this machine, or are lost.
  std::uint64_t synced() const { return synced_; }

  /// The ranks have ended or are being stopped: from now on a write that takes too long is given
  /// up, with everything that waits behind it, so that the task can end.
  void expect_end();
  /// The ranks of this attempt have ended: its output is lost if a full or hanging disk does not
  /// take it soon, so that another attempt of the trial can begin. The output of that attempt is
  /// waited for again. Pieces are handled in order: a waiting piece of another trial delays those
  /// behind it.
  void expect_another(AttemptId ended);
  /// No piece of this trial follows: tells the sink so, after the pieces that it was given before.
  void end_trial(int trial);
  /// Runs the loop until everything is written or given up, then reports what was lost. Does not
  /// wait for the last sync.
  void finish();
  /// Stops writing: the pieces that wait belong to the logs of another process.
  void leave();

 private:
  struct Batch {
    std::vector<LogPiece> pieces;
    std::uint64_t bytes = 0;
    // The result of the write.
    std::size_t written = 0;  ///< count of written pieces
    std::size_t taken = 0;    ///< bytes of the piece behind them
    bool is_waiting = false;  ///< for room
    std::uint64_t lost = 0;   ///< bytes
    std::string trouble;
    bool is_refused = false;    ///< another process owns the logs
    bool is_abandoned = false;  ///< counted as lost, though the thread may still write it

    std::uint64_t unwritten() const;
  };
  /// Whether this process still owns the logs.
  struct Permission {
    std::function<bool()> may_write;
    Instant asked_at{0};
    bool is_refused = false;

    bool is_given();
  };
  /// The last attempt of a trial that has ended.
  struct EndedAttempt {
    int attempt = 0;
    Instant at{0};  ///< when the loop learned of it
  };
  /// The last hurried attempt of each trial that is not over: pieces of attempts up to it are lost
  /// when there is no room for them.
  using Hurried = std::map<int, int>;
  // A small part of what a host may send without acknowledgement, so that it keeps sending.
  static constexpr std::uint64_t longest_batch = 128u << 10;
  // This many bytes are synced at once, without waiting for more.
  static constexpr std::uint64_t much_unsynced = 8u << 20;
  // How often a full disk is reported to the user.
  static constexpr int most_said_of_room = 3;

  static void append(LogSink& sink, Batch& batch, const Hurried& hurried, Permission& permission);
  void begin();
  void write_current();
  void ended(const Batch& batch);
  void wait_for_room(const Batch& batch);
  void sync_later();
  void begin_sync();
  void sync(std::uint64_t up_to, const LogSink::Sync& work);
  void end_sync(std::uint64_t up_to, const LogSink::Sync& work, const LogSink::Synced& synced);
  void look();
  void hurry_ended(Instant by);
  void abandon_ended(nanoseconds busy);
  static bool has(const Hurried& hurried, const LogPiece& piece);
  bool is_abandonable(const Batch& batch) const;
  bool is_of_no_use(const LogPiece& piece) const;
  void give_up();
  void report_written_later();
  std::uint64_t unwritten_of_current() const;
  void report_trouble(const TerminalText& trouble);

  Loop& loop_;
  std::shared_ptr<LogSink> sink_;
  std::string place_;
  Hooks hooks_;
  Timing timing_;
  std::shared_ptr<Permission> permission_;  ///< used by the writing thread
  Background background_;
  Background syncing_;
  std::deque<std::shared_ptr<Batch>> waiting_;
  std::shared_ptr<Batch> current_;  ///< being written by the thread
  std::uint64_t taken_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t synced_ = 0;
  std::uint64_t unsynced_bytes_ = 0;  ///< written since a sync was last begun
  bool is_syncing_ = false;
  std::unique_ptr<Subscription> next_sync_;
  std::uint64_t lost_bytes_ = 0;
  nanoseconds stalled_for_{0};  ///< duration of the stall that was reported
  Instant no_room_since_{0};    ///< 0: there is room
  int said_of_room_ = 0;
  std::unique_ptr<Subscription> next_try_;
  bool has_reported_trouble_ = false;
  bool has_reported_sync_trouble_ = false;
  bool has_reported_sync_loss_ = false;
  std::map<int, EndedAttempt> ended_;  ///< by trial, for trials that are not over
  Hurried hurried_;
  bool end_is_near_ = false;
  bool is_finishing_ = false;
  bool has_given_up_ = false;
  bool has_left_ = false;
  std::unique_ptr<Subscription> look_;
};

}  // namespace train
