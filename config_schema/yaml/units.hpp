// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// A number of bytes: a whole number (`1073741824`, `1e9`) or a string with a unit (`16GiB`,
/// `1.5 TB`; KiB, MiB, GiB, TiB are powers of 1024, KB, MB, GB, TB of 1000, B is one byte). Nothing
/// for anything else, for negative values and for more than 2^62 bytes.
std::optional<std::uint64_t> read_bytes(const YamlNode& node);

/// A duration: a number of seconds (`10`, `0.5`) or a string with a unit (`500ms`, `10s`, `2m`,
/// `1h`, `1d`). Nothing for anything else, for negative values and for more than a year.
std::optional<std::chrono::milliseconds> read_duration(const YamlNode& node);

}  // namespace train
