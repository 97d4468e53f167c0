// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/wire/attempt_id.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// A piece of the output of a rank, or a gap in it, which has no bytes.
struct LogPiece {
  int rank = 0;
  OutputStream stream = OutputStream::out;
  std::int64_t time_us = 0;  ///< microseconds since the Unix epoch
  std::string bytes;
  std::uint64_t dropped = 0;  ///< missing bytes, for a gap
  AttemptId of = {};
  bool ends_trial = false;  ///< a marker without rank and bytes: the last piece of its trial
};

/// Where pieces are written. Calls may block on the disk for any time.
class LogSink {
 public:
  struct Outcome {
    std::size_t taken = 0;    ///< bytes from the beginning of the piece that were handled
    bool is_waiting = false;  ///< there is no room for the rest now: try again later
    std::uint64_t lost = 0;   ///< bytes of `taken` that will never be written
    std::string trouble;      ///< why not all was written; else empty
  };
  struct Synced {
    std::string trouble;  ///< why the sync has to be repeated; empty when it succeeded
    /// Which output may be missing after a crash of this machine, and why. The kernel reports a
    /// failed write once only; later syncs of the file succeed.
    std::string lost;
  };
  /// Syncs what was appended to the disk. Any thread may run it, and again after trouble.
  using Sync = std::function<Synced()>;

  /// What happens to a piece for which there is no room now.
  enum class NoRoom { waits, is_lost };

  virtual ~LogSink() = default;
  /// Appends the piece without its first `from` bytes.
  virtual Outcome append(const LogPiece& piece, std::size_t from, NoRoom no_room) = 0;
  Outcome append(const LogPiece& piece, std::size_t from) {
    return append(piece, from, NoRoom::waits);
  }
  /// Returns the sync of everything that was appended since the last call.
  virtual Sync begin_sync() = 0;
  /// No piece of this trial follows: its files need not be kept open.
  virtual void end_trial(int /*trial*/) {}
};

}  // namespace train
