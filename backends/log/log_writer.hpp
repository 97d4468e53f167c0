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

/// Writes down what ranks print, from a thread beside the loop, and syncs it from another: a disk
/// that does not answer stops neither heartbeats nor signals, and one that is slow to sync does not
/// stop writing. The owner bounds what waits to be written: it lets hosts send more only when
/// pieces have been written.
///
/// A disk that is full is tried again until it takes what waits, so that nothing is lost while the
/// hosts have room for what comes after it.
class LogWriter {
 public:
  struct Timing {
    milliseconds look{1'000};        ///< how often to look at a write that has not ended
    milliseconds stall{10'000};      ///< the user is told of one that takes longer
    milliseconds last_stall{5'000};  ///< at the end, one that takes longer is given up
    milliseconds sync{1'000};        ///< how long what was written may wait to be synced
  };
  struct Hooks {
    std::function<void()> on_written;                   ///< `written` or `synced` has grown
    std::function<void(const TerminalText& said)> say;  ///< for the user
    /// Asked on the writing thread, before a piece, where it was last asked some time ago: this
    /// process may have been frozen meanwhile. False: the logs are somebody else's, and nothing is
    /// written from then on; `written` does not grow any more.
    std::function<bool()> may_write = [] { return true; };
    std::function<void()> on_refused = [] {};  ///< `may_write` was false; once
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
  /// Pieces up to this number have been written: they outlast this process. Or they are lost.
  std::uint64_t written() const { return written_; }
  /// Pieces up to this number are on the disk: they outlast this machine. Or they are lost.
  std::uint64_t synced() const { return synced_; }

  /// The ranks have ended or are being stopped: from now on a write that takes too long is given
  /// up, with all that waits behind it, so that it does not keep the task from ending.
  void expect_end();
  /// The ranks of this attempt have ended: what a disk that is full or hangs does not take of it
  /// soon is lost, so that another attempt of its trial can begin. What comes of that waits again.
  /// Pieces count in their order: where one of another trial waits, so does what lies behind it.
  void expect_another(AttemptId ended);
  /// Nothing of this trial follows: tells the sink so, behind what it was given before.
  void end_trial(int trial);
  /// Runs the loop until everything is written or given up, then says what was lost. Does not wait
  /// for the last sync.
  void finish();
  /// Writes nothing more: what waits belongs into the logs of another process.
  void leave();

 private:
  struct Batch {
    std::vector<LogPiece> pieces;
    std::uint64_t bytes = 0;
    // What has become of it.
    std::size_t written = 0;  ///< pieces
    std::size_t taken = 0;    ///< bytes of the piece behind them
    bool is_waiting = false;  ///< for room
    std::uint64_t lost = 0;   ///< bytes
    std::string trouble;
    bool is_refused = false;    ///< the logs are somebody else's
    bool is_abandoned = false;  ///< it counts as lost already, though the thread may still write it

    std::uint64_t unwritten() const;
  };
  /// Whether the logs are still this process' own.
  struct Permission {
    std::function<bool()> may_write;
    Instant asked_at{0};
    bool is_refused = false;

    bool is_given();
  };
  /// The last attempt of a trial that has ended.
  struct EndedAttempt {
    int attempt = 0;
    Instant at{0};  ///< when that was known
  };
  /// Of trials that are not over, by trial: what there is no room for of attempts up to this one is
  /// lost.
  using Hurried = std::map<int, int>;
  // A small part of what a host may send without acknowledgement, so that it goes on sending.
  static constexpr std::uint64_t longest_batch = 128u << 10;
  // So much is synced at once, without waiting for more.
  static constexpr std::uint64_t much_unsynced = 8u << 20;
  // How often the user is told that a disk is full.
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
  void tell_written_later();
  std::uint64_t unwritten_of_current() const;
  void say_trouble(const TerminalText& trouble);

  Loop& loop_;
  std::shared_ptr<LogSink> sink_;
  std::string place_;
  Hooks hooks_;
  Timing timing_;
  std::shared_ptr<Permission> permission_;  ///< the writing thread's
  Background background_;
  Background syncing_;
  std::deque<std::shared_ptr<Batch>> waiting_;
  std::shared_ptr<Batch> current_;  ///< what the thread writes
  std::uint64_t taken_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t synced_ = 0;
  std::uint64_t unsynced_bytes_ = 0;  ///< written since a sync was last begun
  bool is_syncing_ = false;
  std::unique_ptr<Subscription> next_sync_;
  std::uint64_t lost_bytes_ = 0;
  nanoseconds stalled_for_{0};  ///< of the stall that was said
  Instant no_room_since_{0};    ///< 0: there is room
  int said_of_room_ = 0;
  std::unique_ptr<Subscription> next_try_;
  bool has_said_trouble_ = false;
  bool has_said_sync_trouble_ = false;
  bool has_said_sync_loss_ = false;
  std::map<int, EndedAttempt> ended_;  ///< by trial; of those that are not over
  Hurried hurried_;
  bool end_is_near_ = false;
  bool is_finishing_ = false;
  bool has_given_up_ = false;
  bool has_left_ = false;
  std::unique_ptr<Subscription> look_;
};

}  // namespace train
