// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// The most ranks of one measurement: up to here every sum is exact in a float.
inline constexpr int most_allreduce_ranks = 4'096;
/// The largest message that can be asked for.
inline constexpr std::uint64_t most_allreduce_bytes = std::uint64_t{1} << 40;
/// Bytes of one line of a report at most.
inline constexpr std::size_t longest_allreduce_report = std::size_t{2} << 20;

/// Bytes of the name of a network.
inline constexpr std::size_t longest_nccl_network = 48;

/// An all-reduce of one size.
struct AllReduceTime {
  std::uint64_t bytes = 0;
  nanoseconds time{0};  ///< of one all-reduce
  int wrong = 0;        ///< of the sums that were looked at, three of each rank

  bool operator==(const AllReduceTime&) const = default;
};

/// The sizes of a measurement up to a largest: 8 bytes and on, each eight times the one before.
std::vector<std::uint64_t> allreduce_sizes(std::uint64_t largest);

/// Bytes per second that each GPU has sent, and as many received, as nccl-tests define it: what an
/// all-reduce takes at least of the slowest link, whatever the number of ranks. 0 for one rank.
double bus_bandwidth(std::uint64_t bytes, nanoseconds time, int world);

/// What one rank has measured on its GPU.
struct AllReduceFacts {
  std::string cuda = {};  ///< the newest CUDA that the driver takes: "13.0"
  std::string nccl = {};  ///< "2.28.9"
  std::string gpu = {};   ///< its name
  /// What NCCL calls the network between hosts: "IB", "Socket", a plugin's; empty: it does not say.
  std::string network = {};
  // Of memory of the host that is locked, in bytes per second.
  std::uint64_t to_device = 0;
  std::uint64_t from_device = 0;
  /// Of this rank, for each of `allreduce_sizes`, or the first of them where more take too long.
  std::vector<AllReduceTime> times = {};

  bool operator==(const AllReduceFacts&) const = default;
};

/// What a rank says of itself, line by line (`train-devices allreduce`):
///
///     ready CUDA NCCL GPU
///     copy TO_DEVICE FROM_DEVICE
///     id HEX                         rank 0 alone: by what the ranks meet
///     size BYTES NANOSECONDS WRONG   for each size, as long as they take less than half a second
///     done
///
/// or, in place of any of them, "trouble WORDS" as the last. Nothing of it is trusted. A line that
/// begins with none of these words is a library's, and is passed over; so are a thousand at most.
class AllReduceTalk {
 public:
  AllReduceTalk(int rank, std::uint64_t largest);

  /// Takes a line without its end. Class `host` with the rank's words of its trouble, or where the
  /// line is not the next one; nothing more is to be taken then.
  Result<void> take(std::string_view line);

  /// Whether it has told what it is, and has its memory.
  bool is_ready() const { return !facts_.gpu.empty(); }
  /// Empty until it is said.
  const std::string& id() const { return id_; }
  bool is_done() const { return is_done_; }
  /// Whole when it is done.
  const AllReduceFacts& facts() const { return facts_; }

 private:
  bool take_known(std::string_view line);
  bool take_ready(std::string_view line);
  bool take_copy(std::string_view line);
  bool take_id(std::string_view line);
  bool take_size(std::string_view line);

  int rank_;
  std::vector<std::uint64_t> sizes_;
  AllReduceFacts facts_;
  std::string id_;
  bool is_done_ = false;
  int others_lines_ = 0;
};

/// Whether a text is an id as ranks say it: 128 bytes in lower-case hex.
bool is_allreduce_id(std::string_view text);

/// A rank in the report of several, by its place among them.
struct AllReduceRank {
  int rank = 0;
  std::string cuda = {};
  std::string nccl = {};
  std::string gpu = {};
  std::string network = {};
  std::uint64_t to_device = 0;
  std::uint64_t from_device = 0;
  int wrong = 0;  ///< sums of all sizes

  bool operator==(const AllReduceRank&) const = default;
};

/// What some ranks of a measurement, or all, have found together.
struct AllReduceReport {
  int world = 0;                          ///< ranks of the whole measurement
  std::vector<AllReduceTime> times = {};  ///< of the slowest of these; wrong ones of all of these
  std::vector<AllReduceRank> ranks = {};  ///< ascending

  bool operator==(const AllReduceReport&) const = default;
};

/// What one rank has found, as a report.
AllReduceReport report_of_rank(int rank, int world, const AllReduceFacts& facts);
/// What all ranks have found, each in one of these. Class `host` where one is missing or there
/// twice, or where they have measured different things.
Result<AllReduceReport> report_of_all(const std::vector<AllReduceReport>& parts);

/// One line, its end included; and the reverse, of the line without its end: class `host` when it
/// is none.
std::string encode_allreduce_report(const AllReduceReport& report);
Result<AllReduceReport> decode_allreduce_report(std::string_view line);

/// Ranks of a task that have measured together.
struct AllReduceGroup {
  std::vector<int> members = {};  ///< the task's ranks; in the report each has its place here
  AllReduceReport report = {};    ///< empty where there was trouble
  std::map<int, std::string> troubles = {};  ///< by place: why this one has not measured

  bool operator==(const AllReduceGroup&) const = default;
};

/// The most groups of a task, and bytes of their line.
inline constexpr std::size_t most_allreduce_groups = 8 * most_allreduce_ranks;
inline constexpr std::size_t longest_allreduce_groups = std::size_t{16} << 20;

/// One line, its end included; and the reverse, of the line without its end, of so many ranks:
/// class `host` when it is none.
std::string encode_allreduce_groups(const std::vector<AllReduceGroup>& groups);
Result<std::vector<AllReduceGroup>> decode_allreduce_groups(std::string_view line, int world);

}  // namespace train
