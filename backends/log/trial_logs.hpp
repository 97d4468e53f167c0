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

/// The logs of a task with many trials, some of them at once: each trial's in a folder of its own,
/// `trial-12`, which its first piece makes. What is kept of a trial goes with its end, and a
/// bounded number of files is open, whatever the number of trials. Used from one thread at a time.
class TrialLogs final : public LogSink {
 public:
  /// Each trial has `ranks`; `limit` is what the user allows each of them in an attempt, if
  /// anything.
  TrialLogs(std::string directory, int ranks, std::optional<std::uint64_t> limit);

  /// Before anything is appended of the trial, goes on with the logs of this attempt as another
  /// process has left them: the positions, by rank, from which on output is wanted, as
  /// `AttemptLogs::adopt` returns them.
  Result<std::vector<std::uint64_t>> adopt(AttemptId of);
  /// What comes of a trial that has ended is lost.
  Outcome append(const LogPiece& piece, std::size_t from, NoRoom no_room) override;
  using LogSink::append;
  /// Of all trials, also those that have ended since the last one.
  Sync begin_sync() override;
  /// Its files are closed.
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
  std::map<int, Trial> trials_;   ///< that are not over
  std::vector<bool> over_;        ///< by trial, up to the last one that is
  std::list<Trial*> open_;        ///< with open files, last used first
  std::vector<Sync> ended_;       ///< of trials that are over, not begun yet
  bool has_new_folders_ = false;  ///< their names are not on the disk yet
};

}  // namespace train
