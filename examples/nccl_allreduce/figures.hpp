// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nccl_allreduce {

/// Which sizes are measured, in bytes.
struct SizeLadder {
  std::uint64_t min_bytes = 8;
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
  unsigned factor = 2;  // 2 or more

  bool operator==(const SizeLadder&) const = default;
};

/// min, min * factor, ... up to max: whole floats (4 bytes), each size once, in ascending order.
std::vector<std::uint64_t> sizes_of(const SizeLadder& ladder);

/// In units of 10^9 bytes per second.
struct Bandwidth {
  double algorithm = 0;  // bytes of one rank's buffer over time
  double bus = 0;        // what each link carries at least: algorithm * 2 (n - 1) / n
};

/// As nccl-tests define both (doc/PERFORMANCE.md there). The bus bandwidth of one rank is 0.
Bandwidth bandwidth_of(std::uint64_t bytes, double seconds, int ranks);

/// How many all-reduces are timed, 1 to `most`, so that one size takes about five seconds at most.
int iterations_for(double seconds_of_one, int most);

/// What was measured of one size.
struct Row {
  std::uint64_t bytes = 0;
  double seconds = 0;  // of one all-reduce, on the slowest rank
  Bandwidth bandwidth;
  std::uint64_t wrong = 0;  // elements, of all ranks, that are not the sum
};

/// Lines of the table, without their ends.
std::string table_head();
std::string table_line(const Row& row);

/// The last line: the average and the maximum of the bus bandwidth; of one rank, what that means.
/// `rows` is not empty.
std::string summary_line(const std::vector<Row>& rows, int ranks);

/// One line of JSON for TRAIN_METRICS_FILE, with its end.
std::string report_line(const Row& row, int step);

}  // namespace nccl_allreduce
