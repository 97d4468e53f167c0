// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/log/attempt_logs.hpp"
#include "backends/log/log_sink.hpp"

namespace train {

/// The logs of a task with many trials, several of which may run at once. Each trial has its own
/// folder, `trial-12`, which its first piece creates. The state of a trial is freed at its end, and
/// a bounded number of files is open, independent of the number of trials. Used from one thread at
/// a time.
class TrialLogs final : public LogSink {
 public:
  /// Each trial has `ranks` ranks; `limit` is the user's limit in bytes for each of them in an
  /// attempt, if there is one.
  TrialLogs(std::string directory, int ranks, std::optional<std::uint64_t> limit);

  /// Adopts the logs of this attempt that another process has left; called before any piece of the
  /// trial is appended. Returns the positions, by rank, from which the output has to be sent again,
  /// as `AttemptLogs::adopt` does.
  Result<std::vector<std::uint64_t>> adopt(AttemptId of);
  /// Pieces of a trial that has ended are lost.
  Outcome append(const LogPiece& piece, std::size_t from, NoRoom no_room) override;
  using LogSink::append;
  /// Syncs all trials, including those that have ended since the last call.
  Sync begin_sync() override;
  /// Closes the files of the trial.
  void end_trial(int trial) override;

 private:
  struct Trial {
    AttemptLogs logs;
    bool has_folder = false;
  };
  static constexpr std::size_t most_open = 128;  ///< logs

  bool is_over(int trial) const;
  Trial& trial(int number);
  int make_folder(int number, Trial& trial);
  void close_surplus(std::size_t most);

  std::string directory_;
  int ranks_;
  std::optional<std::uint64_t> limit_;
  std::map<int, Trial> trials_;   ///< trials that are not over
  std::vector<bool> over_;        ///< by trial, up to the last one that is over
  std::list<Trial*> open_;        ///< with open files, last used first
  std::vector<Sync> ended_;       ///< pending syncs of trials that are over
  bool has_new_folders_ = false;  ///< whose names are not synced yet
};

}  // namespace train
