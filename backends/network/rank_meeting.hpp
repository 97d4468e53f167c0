// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "backends/network/timed_socket.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// A rank of a task, and the address at which the ranks meet.
struct MeetingRank {
  int rank = 0;
  int world = 1;
  std::string address = {};  ///< numeric; where rank 0 listens
  int port = 0;
  std::string task = {};  ///< a word; connections with another one are closed
};

/// The connections of ranks that have met: rank 0 has one to each other rank, these have one to
/// rank 0. Errors are of class `host` and name the rank.
class RankMeeting {
 public:
  /// Waits until all ranks are connected. Each sends `words` to rank 0. Other connections, and
  /// silent ones after a second, are closed.
  static Result<RankMeeting> meet(const MeetingRank& own, std::string_view words,
                                  Deadline deadline);

  /// A line of at most 4 KiB without its newline: from rank 0 to any other, or from another to rank
  /// 0.
  Result<void> send(int rank, std::string_view line, Deadline deadline);
  Result<std::string> receive(int rank, Deadline deadline);
  /// For rank 0: the words of a rank, and its address as seen from here.
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

/// Adds the rank to an error; class `host`.
tl::unexpected<Error> of_rank(int rank, const Error& error);
/// The error for a rank that breaks the protocol.
tl::unexpected<Error> misunderstood(int rank);

}  // namespace train
