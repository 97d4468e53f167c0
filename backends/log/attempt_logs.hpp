// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/log/log_files.hpp"
#include "backends/log/log_sink.hpp"

namespace train {

/// The logs of a task, or of one trial of it: those of each attempt in files of their own,
/// `rank-3.1.log`, with limits of their own. What ranks report is in `metrics-3.1.log`, where they
/// do. Attempts come one after the other. Used from one thread at a time.
class AttemptLogs final : public LogSink {
 public:
  /// `limit` is what the user allows each rank of an attempt, if anything.
  AttemptLogs(std::string directory, int ranks, std::optional<std::uint64_t> limit);

  /// Makes the first segment of every rank of the first attempt, empty. Fails with class `no_input`
  /// when one cannot be made.
  Result<void> create() { return begin(0); }
  /// Instead of `create`, goes on with the logs of this attempt as another process has left them
  /// (`LogFiles::adopt`): the positions, by rank, from which on output is wanted.
  Result<std::vector<std::uint64_t>> adopt(int attempt);
  /// The first piece of an attempt makes its files, an empty one no more than that. What comes of
  /// an attempt before it is lost.
  Outcome append(const LogPiece& piece, std::size_t from, NoRoom no_room) override;
  using LogSink::append;
  /// Of all attempts.
  Sync begin_sync() override;
  /// How many logs are open, two files each.
  std::size_t open_logs() const;
  /// Closes them, until they are written again.
  void close_files();

 private:
  Result<void> begin(int attempt);
  void open(int attempt);
  LogFiles& metrics();

  std::string directory_;
  int ranks_;
  std::optional<std::uint64_t> limit_;
  int attempt_ = -1;
  std::optional<LogFiles> files_;    ///< of what ranks print
  std::optional<LogFiles> metrics_;  ///< made when there are some
  std::vector<Sync> earlier_;        ///< of attempts that are over, not begun yet
};

}  // namespace train
