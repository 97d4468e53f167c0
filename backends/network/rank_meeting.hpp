// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "backends/network/timed_socket.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// A rank of a task, and where it meets the others.
struct MeetingRank {
  int rank = 0;
  int world = 1;
  std::string address = {};  ///< numeric; where rank 0 listens
  int port = 0;
  std::string task = {};  ///< a word; whoever names another is sent away
};

/// Ranks that have met at rank 0, which has a connection to each of the others; these have one to
/// it. Errors are of class `host` and name the rank.
class RankMeeting {
 public:
  /// Waits until all are there. Each tells rank 0 words of itself; strangers, and whoever says
  /// nothing for a second, are sent away.
  static Result<RankMeeting> meet(const MeetingRank& own, std::string_view words,
                                  Deadline deadline);

  /// A line of at most 4 KiB without its end: of rank 0 to any other, of the others to rank 0.
  Result<void> send(int rank, std::string_view line, Deadline deadline);
  Result<std::string> receive(int rank, Deadline deadline);
  /// Of rank 0: what a rank has told of itself, and its address as seen from here.
  const std::string& words_of(int rank) const { return others_.at(rank).words; }
  const std::string& address_of(int rank) const { return others_.at(rank).address; }

 private:
  struct Other {
    TimedSocket socket;
    std::string address;
    std::string words;
  };
  Result<void> lead(const MeetingRank& own, Deadline deadline);
  Result<void> join(const MeetingRank& own, std::string_view words, Deadline deadline);
  void welcome(const MeetingRank& own, TimedSocket socket, std::string_view hello);

  std::map<int, Other> others_;
};

/// What is wrong with a rank; class `host`.
tl::unexpected<Error> of_rank(int rank, const Error& error);
/// It says what no rank says.
tl::unexpected<Error> misunderstood(int rank);

}  // namespace train
