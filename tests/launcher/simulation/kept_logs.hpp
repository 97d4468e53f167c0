// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "launcher/agent/output_queue.hpp"

namespace train::simulation {

/// Bytes of each of a rank's streams: 0 is stdout, 1 stderr; or of its metrics, 0.
using StreamBytes = std::map<RankOfAttempt, std::array<std::uint64_t, 2>>;

inline std::uint64_t bytes_of(const StreamBytes& bytes, const RankOfAttempt& id) {
  const auto found = bytes.find(id);
  return found == bytes.end() ? 0 : found->second[0] + found->second[1];
}

/// What the logs of a task have, whoever writes them.
struct KeptLogs {
  StreamBytes written = {};
  StreamBytes synced = {};
  /// The most that each rank's logs have had; a loss of power takes nothing from it.
  std::map<RankOfAttempt, std::uint64_t> ever_written = {};
  StreamBytes lost = {};  ///< given up, since the disk did not answer
  /// The one that was adopted last. What hosts still have of attempts before it, since the machine
  /// of the logs has lost its power or the host was lost, nobody asks for again.
  int adopted_attempt = 0;
  bool is_sync_given_up = false;  ///< at the end of the task, for the same reason

  void write(const RankOfAttempt& id, std::size_t stream, std::uint64_t size) {
    written[id][stream] += size;
    ever_written[id] = std::max(ever_written[id], position(id));
  }
  /// What was not on the disk is lost; also for the hosts, where the task had given up a disk that
  /// did not answer.
  void lose_power() {
    for (const auto& [id, bytes] : written)
      for (std::size_t stream : {0u, 1u})
        if (is_sync_given_up) lost[id][stream] += bytes[stream] - synced[id][stream];
    written = synced;
  }
  /// Where the output of a rank goes on.
  std::uint64_t position(const RankOfAttempt& id) const { return bytes_of(written, id); }
  /// An agent may know that so much of a rank's output is written, or lost for good.
  std::uint64_t settled(const RankOfAttempt& id) const {
    if (id.of.attempt < adopted_attempt) return UINT64_MAX;
    const auto found = ever_written.find(id);
    return (found == ever_written.end() ? 0 : found->second) + bytes_of(lost, id);
  }
  /// The same of what may go from its host.
  std::uint64_t settled_for_good(const RankOfAttempt& id) const {
    if (is_sync_given_up || id.of.attempt < adopted_attempt) return settled(id);
    return bytes_of(synced, id) + bytes_of(lost, id);
  }
};

}  // namespace train::simulation
