// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/wire/attempt_id.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// A piece of what a rank wrote, or a gap in it, which has no bytes.
struct LogPiece {
  int rank = 0;
  OutputStream stream = OutputStream::out;
  std::int64_t time_us = 0;  ///< microseconds since the Unix epoch
  std::string bytes;
  std::uint64_t dropped = 0;  ///< of a gap: how many are missing
  AttemptId of = {};
  bool ends_trial = false;  ///< of no rank, without bytes: nothing of its trial follows
};

/// Where pieces are written down. May block for as long as a disk likes.
class LogSink {
 public:
  struct Outcome {
    std::size_t taken = 0;    ///< bytes of the piece, from its beginning, that are done with
    bool is_waiting = false;  ///< there is no room for the rest now: it is to be tried again
    std::uint64_t lost = 0;   ///< bytes of what was taken that will never be written
    std::string trouble;      ///< why not all was written; empty when all was
  };
  struct Synced {
    std::string trouble;  ///< why it has to be carried out once more; empty when it need not be
    /// What may be missing after a crash of this machine, and why: the kernel tells once that it
    /// could not write something, forgets it, and says that all is well when it is asked again.
    std::string lost;
  };
  /// Makes what was appended outlast the machine. Any thread may carry it out, again where there
  /// was trouble.
  using Sync = std::function<Synced()>;

  /// What becomes of a piece that there is no room for now.
  enum class NoRoom { waits, is_lost };

  virtual ~LogSink() = default;
  /// Appends what of the piece lies behind its first `from` bytes.
  virtual Outcome append(const LogPiece& piece, std::size_t from, NoRoom no_room) = 0;
  Outcome append(const LogPiece& piece, std::size_t from) {
    return append(piece, from, NoRoom::waits);
  }
  /// For all that was appended since the last call.
  virtual Sync begin_sync() = 0;
  /// Nothing of this trial follows: its files need not be kept open.
  virtual void end_trial(int /*trial*/) {}
};

}  // namespace train
