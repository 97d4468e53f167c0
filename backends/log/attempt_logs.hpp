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

/// The logs of a task, or of one trial of it. Each attempt has its own files, `rank-3.1.log`, with
/// their own limits. The reports of ranks are in `metrics-3.1.log`, which exists only if there are
/// reports. Attempts come one after the other. Used from one thread at a time.
class AttemptLogs final : public LogSink {
 public:
  /// `limit` is the user's limit in bytes for each rank of an attempt, if there is one.
  AttemptLogs(std::string directory, int ranks, std::optional<std::uint64_t> limit);

  /// Creates the first segment of every rank of the first attempt, empty. Fails with class
  /// `no_input` when one cannot be created.
  Result<void> create() { return begin(0); }
  /// Instead of `create`, adopts the logs of this attempt that another process has left
  /// (`LogFiles::adopt`). Returns the positions, by rank, from which the output has to be sent
  /// again; those of the metrics logs follow.
  Result<std::vector<std::uint64_t>> adopt(int attempt);
  /// The first piece of an attempt creates its files; an empty piece does only that. Pieces of an
  /// earlier attempt are lost.
  Outcome append(const LogPiece& piece, std::size_t from, NoRoom no_room) override;
  using LogSink::append;
  /// Syncs the logs of all attempts.
  Sync begin_sync() override;
  /// How many logs are open, two files each.
  std::size_t open_logs() const;
  /// Closes all files; they are opened again when written.
  void close_files();

 private:
  Result<void> begin(int attempt);
  void open(int attempt);
  LogFiles& metrics();

  std::string directory_;
  int ranks_;
  std::optional<std::uint64_t> limit_;
  int attempt_ = -1;
  std::optional<LogFiles> files_;    ///< the printed output of ranks
  std::optional<LogFiles> metrics_;  ///< created with the first report
  std::vector<Sync> earlier_;        ///< pending syncs of earlier attempts
};

}  // namespace train
