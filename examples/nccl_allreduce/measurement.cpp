// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/measurement.hpp"

#include <algorithm>
#include <string>

#include "examples/nccl_allreduce/kernels.hpp"

namespace nccl_allreduce {
namespace {

constexpr int most_warm_ups = 5;
constexpr double memory_to_use = 0.9;  // of what is free when NCCL has what it needs at first
constexpr int not_a_number = 0xff;     // all bytes of a float NaN

/// One run over all sizes. Every step that waits for other ranks is told to the watchdog.
class Measurement {
 public:
  Measurement(const Settings& settings, Gpu& gpu, Communicator& ranks, Watchdog& watchdog,
              DeviceMemory number)
      : settings_(settings),
        gpu_(gpu),
        ranks_(ranks),
        watchdog_(watchdog),
        number_(std::move(number)) {}

  /// The largest size of the ladder for which all ranks have memory.
  Result<std::uint64_t> affordable() {
    watchdog_.begin("the first all-reduce, of 8 bytes", settings_.timeout);
    if (auto first = agree(0, ncclMin); !first) return first.failure();
    auto unused = gpu_.free_memory();
    if (!unused) return unused.failure();
    auto least = agree(static_cast<double>(*unused), ncclMin);
    if (!least) return least.failure();
    return static_cast<std::uint64_t>(*least * memory_to_use / 2);
  }

  Status prepare(std::uint64_t most_bytes) {
    auto from = DeviceMemory::allocate(most_bytes);
    if (!from) return from.failure();
    auto to = DeviceMemory::allocate(most_bytes);
    if (!to) return to.failure();
    from_ = std::move(*from);
    to_ = std::move(*to);
    return cuda_status(
        launch_fill(from_.as<float>(), most_bytes / sizeof(float), settings_.rank, gpu_.stream()),
        "fill the buffer");
  }

  Result<Row> row_of(std::uint64_t bytes) {
    const std::size_t count = bytes / sizeof(float);
    watchdog_.begin("an all-reduce of " + std::to_string(bytes) + " bytes", settings_.timeout);
    auto cold = timed(count, 1);  // NCCL makes connections when they are first needed
    if (!cold) return cold.failure();
    watchdog_.begin("an all-reduce of " + std::to_string(bytes) + " bytes", settings_.timeout);
    auto one = timed(count, 1);
    if (!one) return one.failure();
    const int iterations = iterations_for(*one, settings_.iterations);
    watchdog_.begin(
        std::to_string(iterations) + " all-reduces of " + std::to_string(bytes) + " bytes",
        settings_.timeout);
    if (auto warm = timed(count, std::min(iterations, most_warm_ups)); !warm) return warm.failure();
    watchdog_.begin(
        std::to_string(iterations) + " all-reduces of " + std::to_string(bytes) + " bytes",
        settings_.timeout);
    auto seconds = timed(count, iterations);
    if (!seconds) return seconds.failure();
    watchdog_.begin("the check of an all-reduce of " + std::to_string(bytes) + " bytes",
                    settings_.timeout);
    auto wrong = wrong_sums(count);
    if (!wrong) return wrong.failure();
    return Row{bytes, *seconds, bandwidth_of(bytes, *seconds, settings_.world_size), *wrong};
  }

 private:
  Status reduce(std::size_t count) {
    return ranks_.all_reduce(from_.as<float>(), to_.as<float>(), count, ncclFloat, ncclSum, gpu_);
  }

  /// Waits for all that is on the stream.
  Status settle() {
    if (auto marked = gpu_.mark_end(); !marked) return marked;
    return ranks_.wait(gpu_);
  }

  /// One value of all ranks. It waits before it copies: a copy would wait without a look at NCCL.
  Result<double> agree(double mine, ncclRedOp_t operation) {
    auto* const number = number_.as<double>();
    double theirs = 0;
    auto agreed = gpu_.copy(number, &mine, sizeof mine);
    if (agreed) agreed = ranks_.all_reduce(number, number, 1, ncclDouble, operation, gpu_);
    if (agreed) agreed = settle();
    if (agreed) agreed = gpu_.copy(&theirs, number, sizeof theirs);
    if (agreed) agreed = settle();
    if (!agreed) return agreed.failure();
    return theirs;
  }

  /// Seconds of one of so many all-reduces, on the slowest rank.
  Result<double> timed(std::size_t count, int iterations) {
    auto ran = gpu_.mark_start();
    for (int i = 0; i < iterations && ran; ++i) ran = reduce(count);
    if (ran) ran = settle();
    if (!ran) return ran.failure();
    auto seconds = gpu_.seconds();
    if (!seconds) return seconds.failure();
    return agree(*seconds / iterations, ncclMax);
  }

  /// How many elements of one more all-reduce are wrong, on all ranks together.
  Result<std::uint64_t> wrong_sums(std::size_t count) {
    auto* const wrong = number_.as<std::uint64_t>();
    std::uint64_t mine = 0;
    auto counted = gpu_.set(to_.as<float>(), not_a_number, count * sizeof(float));
    if (counted) counted = reduce(count);
    if (counted) counted = gpu_.set(wrong, 0, sizeof *wrong);
    if (counted)
      counted = cuda_status(
          launch_count_wrong(to_.as<float>(), count, settings_.world_size, wrong, gpu_.stream()),
          "check the sums");
    if (counted) counted = settle();
    if (counted) counted = gpu_.copy(&mine, wrong, sizeof mine);
    if (counted) counted = settle();
    if (!counted) return counted.failure();
    auto all = agree(static_cast<double>(mine), ncclSum);
    if (!all) return all.failure();
    return static_cast<std::uint64_t>(*all);
  }

  const Settings& settings_;
  Gpu& gpu_;
  Communicator& ranks_;
  Watchdog& watchdog_;
  DeviceMemory number_;  // 8 bytes
  DeviceMemory from_;
  DeviceMemory to_;
};

}  // namespace

Result<std::vector<Row>> measure(const Settings& settings, Gpu& gpu, Communicator& ranks,
                                 Watchdog& watchdog,
                                 const std::function<void(const Row&)>& on_row) {
  auto number = DeviceMemory::allocate(sizeof(double));
  if (!number) return number.failure();
  Measurement measurement(settings, gpu, ranks, watchdog, std::move(*number));
  auto most = measurement.affordable();
  if (!most) return most.failure();
  SizeLadder ladder = settings.sizes;
  ladder.max_bytes = std::min(ladder.max_bytes, *most);
  const std::vector<std::uint64_t> sizes = sizes_of(ladder);
  if (sizes.empty())
    return Failure{
        "the GPUs have memory for " + std::to_string(*most) + " bytes only: choose a smaller --min",
        ExitCode::unavailable};
  if (auto prepared = measurement.prepare(sizes.back()); !prepared) return prepared.failure();
  std::vector<Row> rows;
  for (const std::uint64_t bytes : sizes) {
    auto row = measurement.row_of(bytes);
    if (!row) return row.failure();
    rows.push_back(*row);
    on_row(*row);
    if (row->wrong > 0)
      return Failure{"wrong sums in an all-reduce of " + std::to_string(bytes) +
                     " bytes: " + std::to_string(row->wrong) +
                     "; the GPUs, their links or NCCL cannot be trusted: try NCCL_ALGO=Ring, other "
                     "GPUs, or another NCCL"};
  }
  return rows;
}

}  // namespace nccl_allreduce
