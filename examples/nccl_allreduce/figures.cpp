// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/figures.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

namespace nccl_allreduce {
namespace {

constexpr std::uint64_t element = sizeof(float);
constexpr double longest_s = 5;

/// printf into a string; nothing here is longer than a line.
template <typename... Values>
std::string print(const char* format, Values... values) {
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), format, values...);
  return line.data();
}

const Row& fastest(const std::vector<Row>& rows, double Bandwidth::*which) {
  return *std::max_element(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return a.bandwidth.*which < b.bandwidth.*which;
  });
}

}  // namespace

std::vector<std::uint64_t> sizes_of(const SizeLadder& ladder) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = ladder.min_bytes; bytes <= ladder.max_bytes; bytes *= ladder.factor) {
    const std::uint64_t whole = std::max(bytes / element, std::uint64_t{1}) * element;
    if (sizes.empty() || sizes.back() != whole) sizes.push_back(whole);
    if (bytes > ladder.max_bytes / ladder.factor) break;
  }
  return sizes;
}

Bandwidth bandwidth_of(std::uint64_t bytes, double seconds, int ranks) {
  if (seconds <= 0) return {};
  const double algorithm = static_cast<double>(bytes) / seconds / 1e9;
  return {algorithm, algorithm * 2 * (ranks - 1) / ranks};
}

int iterations_for(double seconds_of_one, int most) {
  if (seconds_of_one * most <= longest_s) return most;
  return std::max(1, static_cast<int>(longest_s / seconds_of_one));
}

std::string table_head() {
  return print("# %12s %12s %12s %12s %12s %8s", "bytes", "elements", "time us", "algbw GB/s",
               "busbw GB/s", "wrong");
}

std::string table_line(const Row& row) {
  return print("  %12" PRIu64 " %12" PRIu64 " %12.2f %12.2f %12.2f %8" PRIu64, row.bytes,
               row.bytes / element, row.seconds * 1e6, row.bandwidth.algorithm, row.bandwidth.bus,
               row.wrong);
}

std::string summary_line(const std::vector<Row>& rows, int ranks) {
  if (ranks == 1) {
    const Row& best = fastest(rows, &Bandwidth::algorithm);
    return print(
        "# bus bandwidth: 0 by definition, as one rank sends nothing; algbw: maximal %.2f GB/s at "
        "%" PRIu64 " bytes",
        best.bandwidth.algorithm, best.bytes);
  }
  double sum = 0;
  for (const Row& row : rows) sum += row.bandwidth.bus;
  const Row& best = fastest(rows, &Bandwidth::bus);
  return print("# bus bandwidth: average %.2f GB/s, maximal %.2f GB/s at %" PRIu64 " bytes",
               sum / static_cast<double>(rows.size()), best.bandwidth.bus, best.bytes);
}

std::string report_line(const Row& row, int step) {
  return print("{\"step\": %d, \"bytes\": %" PRIu64
               ", \"time_us\": %.3f, \"algbw\": %.4f, \"busbw\": %.4f}\n",
               step, row.bytes, row.seconds * 1e6, row.bandwidth.algorithm, row.bandwidth.bus);
}

}  // namespace nccl_allreduce
