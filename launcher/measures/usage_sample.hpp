// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// Tasks with at most so many ranks have samples of each rank.
constexpr std::size_t most_sampled_ranks = 16;

/// What the ranks of an attempt used at one moment.
struct UsageSample {
  /// A number for each rank, in their order; or the least, the median and the most of all ranks if
  /// there are more than `most_sampled_ranks`. Nothing: not known.
  using Values = std::vector<std::optional<std::int64_t>>;

  std::int64_t at = 0;  ///< milliseconds since the Unix epoch
  int attempt = 0;
  Values cpu = {};     ///< thousandths of a CPU in use since the measurement before
  Values memory = {};  ///< bytes
  // Empty where nothing is known of GPUs.
  Values gpu = {};         ///< thousandths of a GPU in use
  Values gpu_memory = {};  ///< bytes of the memory of GPUs

  bool operator==(const UsageSample&) const = default;
};

/// One line of JSON, with its newline.
std::string encode_sample(const UsageSample& sample);
Result<UsageSample> decode_sample(std::string_view line);

}  // namespace train
