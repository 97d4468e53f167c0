// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace train {

/// What `read_slurm_queue` reads: `squeue --noheader --states=all --format=` this.
inline constexpr const char* slurm_queue_format = "%i|%T|%S|%B|%N|%r";

/// A job in Slurm's queue, in Slurm's words.
struct QueuedJob {
  std::string state;       ///< "PENDING", "RUNNING", "COMPLETING", "FAILED", ...
  std::string start;       ///< when it has started, or is expected to; empty: not known
  std::string batch_host;  ///< where its script runs; empty: nowhere yet
  std::string nodes;       ///< its nodes, folded; empty: none yet
  std::string reason;      ///< why it is in this state; empty: none

  bool is_pending() const { return state == "PENDING" || state == "CONFIGURING"; }
  bool is_running() const { return state == "RUNNING" || state == "SUSPENDED"; }
  /// Its processes have ended, or are being ended for good. Source: squeue(1), "JOB STATE CODES".
  bool is_over() const;
};

/// The jobs that `squeue` lists, by id. Lines that are not understood are passed over.
std::map<std::string, QueuedJob> read_slurm_queue(std::string_view squeue);

/// Why a job that waits for this reason never starts unless somebody changes it or the cluster;
/// empty: its turn comes. Source: squeue(1), "JOB REASON CODES".
std::string_view why_it_never_starts(std::string_view reason);

/// "it waits for its turn (Priority), about until 2026-11-29T14:05:00".
std::string words_on_waiting(const QueuedJob& job);

}  // namespace train
