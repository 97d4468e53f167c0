// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/network/timed_socket.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// A rank of a task that meets the others.
struct MeetingRank {
  int rank = 0;
  int world = 1;
  std::string address = {};  ///< numeric; where rank 0 listens
  int port = 0;
  std::string task = {};  ///< a word; whoever names another is sent away
  /// What it tells of itself, words with a space between.
  std::string words = {};
};

/// Ranks that have met at rank 0, which has a connection to each of the others; these have one to
/// rank 0. Lines go both ways, of at most 4 KiB. Errors are of class `host` and name the rank.
class RankMeeting {
 public:
  /// Waits for all: every other rank is there, or the deadline is over. Strangers, and whoever says
  /// nothing for a second, are sent away.
  static Result<RankMeeting> meet(const MeetingRank& own, Deadline deadline);

  /// A line without its end, to a rank: of rank 0 to any other, else to rank 0.
  Result<void> send(int rank, std::string_view line, Deadline deadline);
  Result<std::string> receive(int rank, Deadline deadline);
  /// Of rank 0: what a rank has told of itself, and its address as rank 0 sees it.
  const std::string& words_of(int rank) const { return others_.at(rank).words; }
  const std::string& address_of(int rank) const { return others_.at(rank).address; }

 private:
  struct Other {
    TimedSocket socket;
    std::string address;
    std::string words;
  };
  Result<void> lead(const MeetingRank& own, Deadline deadline);
  Result<void> join(const MeetingRank& own, Deadline deadline);
  void welcome(const MeetingRank& own, TimedSocket socket, const std::string& hello);

  std::map<int, Other> others_;
};

}  // namespace train
