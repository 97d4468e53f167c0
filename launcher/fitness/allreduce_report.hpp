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

/// The maximum number of ranks of one measurement: up to this, every sum is exact in a float.
inline constexpr int most_allreduce_ranks = 4'096;
/// The maximum message size.
inline constexpr std::uint64_t most_allreduce_bytes = std::uint64_t{1} << 40;
/// The maximum length of a report in bytes, one line.
inline constexpr std::size_t longest_allreduce_report = std::size_t{2} << 20;

/// The maximum length in bytes of the name of a network.
inline constexpr std::size_t longest_nccl_network = 48;

/// An all-reduce of one size.
struct AllReduceTime {
  std::uint64_t bytes = 0;
  nanoseconds time{0};  ///< for one all-reduce
  int wrong = 0;        ///< number of wrong sums among those that were checked, three on each rank

  bool operator==(const AllReduceTime&) const = default;
};

/// The message sizes of a measurement up to a maximum: from 8 bytes on, each eight times the one
/// before.
std::vector<std::uint64_t> allreduce_sizes(std::uint64_t largest);

/// Bytes per second that each GPU has sent, and the same number received, as defined by nccl-tests:
/// the minimum traffic of an all-reduce over the slowest link, independent of the number of ranks.
/// 0 for one rank.
double bus_bandwidth(std::uint64_t bytes, nanoseconds time, int world);

/// The measurements of one rank on its GPU.
struct AllReduceFacts {
  std::string cuda = {};  ///< the newest CUDA that the driver supports: "13.0"
  std::string nccl = {};  ///< "2.28.9"
  std::string gpu = {};   ///< the GPU's name
  /// NCCL's name of the network between hosts: "IB", "Socket", or a plugin's; empty: unknown.
  std::string network = {};
  // With locked memory of the host, in bytes per second.
  std::uint64_t to_device = 0;
  std::uint64_t from_device = 0;
  /// Times of this rank for each of `allreduce_sizes`, or only for the first ones if larger ones
  /// take too long.
  std::vector<AllReduceTime> times = {};

  bool operator==(const AllReduceFacts&) const = default;
};

/// The report of a rank, line by line (`train-devices allreduce`):
///
///   ready CUDA NCCL GPU
///   copy TO_DEVICE FROM_DEVICE
///   id HEX                         rank 0 only: the id by which the ranks meet
///   size BYTES NANOSECONDS WRONG   for each size, as long as they take less than half a second
///   done
///
/// or, in place of any of them, "trouble WORDS" as the last line. The content is untrusted. A line
/// that begins with none of these words comes from a library and is skipped; at most a thousand
/// are.
class AllReduceTalk {
 public:
  AllReduceTalk(int rank, std::uint64_t largest);

  /// Takes a line without its newline. Class `host` with the rank's own message on trouble, or if
  /// the line is not the expected one; call it no more after an error.
  Result<void> take(std::string_view line);

  /// Whether the rank has identified itself and has allocated its memory.
  bool is_ready() const { return !facts_.gpu.empty(); }
  /// Empty until it was received.
  const std::string& id() const { return id_; }
  bool is_done() const { return is_done_; }
  /// Complete when `is_done`.
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

/// Whether a text is an id as ranks report it: 128 bytes in lower-case hex.
bool is_allreduce_id(std::string_view text);

/// A rank in the report of several ranks, numbered by its place among them.
struct AllReduceRank {
  int rank = 0;
  std::string cuda = {};
  std::string nccl = {};
  std::string gpu = {};
  std::string network = {};
  std::uint64_t to_device = 0;
  std::uint64_t from_device = 0;
  int wrong = 0;  ///< wrong sums over all sizes

  bool operator==(const AllReduceRank&) const = default;
};

/// The combined results of some or all ranks of a measurement.
struct AllReduceReport {
  int world = 0;                          ///< number of ranks of the whole measurement
  std::vector<AllReduceTime> times = {};  ///< the slowest of these ranks; wrong sums of all of them
  std::vector<AllReduceRank> ranks = {};  ///< ascending

  bool operator==(const AllReduceReport&) const = default;
};

/// The results of one rank, as a report.
AllReduceReport report_of_rank(int rank, int world, const AllReduceFacts& facts);
/// Combines reports of one rank each into the report of all. Class `host` if a rank is missing or
/// present twice, or if the ranks have measured different things.
Result<AllReduceReport> report_of_all(const std::vector<AllReduceReport>& parts);

/// Encodes a report as one line with its newline; the inverse takes the line without its newline:
/// class `host` if it is not a report.
std::string encode_allreduce_report(const AllReduceReport& report);
Result<AllReduceReport> decode_allreduce_report(std::string_view line);

/// Ranks of a task that have measured together.
struct AllReduceGroup {
  std::vector<int> members = {};  ///< the task's ranks; the report numbers them by their place here
  AllReduceReport report = {};    ///< empty if there was trouble
  std::map<int, std::string> troubles = {};  ///< by place: why this rank has not measured

  bool operator==(const AllReduceGroup&) const = default;
};

/// The maximum number of groups of a task, and the maximum length of their line in bytes.
inline constexpr std::size_t most_allreduce_groups = 8 * most_allreduce_ranks;
inline constexpr std::size_t longest_allreduce_groups = std::size_t{16} << 20;

/// Encodes groups as one line with its newline; the inverse takes the line without its newline, for
/// a task of `world` ranks: class `host` if it is invalid.
std::string encode_allreduce_groups(const std::vector<AllReduceGroup>& groups);
Result<std::vector<AllReduceGroup>> decode_allreduce_groups(std::string_view line, int world);

}  // namespace train
