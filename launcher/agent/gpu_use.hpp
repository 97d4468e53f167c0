// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/wire/rank_usage.hpp"

namespace train {

/// What NVIDIA's driver says of the use of one GPU now, whoever uses it. A value that the driver
/// refuses is missing, and all are of a GPU in MIG mode.
struct GpuUse {
  int gpu = 0;                               ///< its number, as in `HostGpus::cuda`
  std::optional<int> busy = {};              ///< percent of time in which a kernel runs
  std::optional<std::uint64_t> memory = {};  ///< bytes in use

  bool operator==(const GpuUse&) const = default;
};

/// Limit of a line of all GPUs of a host, in bytes.
inline constexpr std::size_t longest_gpu_uses = std::size_t{256} << 10;

/// Reads a line of `train-devices watch`: `{"devices": [{"index": 0, "busy": 97, "memory_used":
/// 123}]}`. Class `host`.
Result<std::vector<GpuUse>> decode_gpu_uses(std::string_view line);

/// The GPUs of each rank of an attempt on this host, by their numbers.
using GpusOfRanks = std::map<int, std::vector<int>>;

/// Adds the use of its GPUs to the usage of a rank. GPUs that several ranks of the attempt have are
/// divided evenly between them, so that the sum over the ranks is right. A sum of which a part is
/// not known is not known either.
void add_gpu_use(UsageOfRank& used, const GpusOfRanks& gpus, const std::vector<GpuUse>& uses);

}  // namespace train
