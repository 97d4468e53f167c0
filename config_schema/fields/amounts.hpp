// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config_schema/text/diagnostics.hpp"
#include "config_schema/text/quantity.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// A number of bytes: a whole number (`1073741824`, `1e9`) or a string with a unit (`16GiB`,
/// `1.5 TB`; KiB, MiB, GiB, TiB are powers of 1024, KB, MB, GB, TB of 1000, B is one byte). Nothing
/// for anything else, for negative values and for more than 2^62 bytes.
std::optional<std::uint64_t> read_bytes(const YamlNode& node);

/// A duration: a number of seconds (`10`, `0.5`) or a string with a unit (`500ms`, `10s`, `2m`,
/// `1h`, `1d`). Nothing for anything else, for negative values and for more than a year.
std::optional<std::chrono::milliseconds> read_duration(const YamlNode& node);

/// An amount with its place.
struct Amount {
  Quantity quantity;
  Place place;
};

/// A map of resources, of a worker or of a host: `CPU`, `GPU`, `TPU`, `memory` and custom names.
struct Amounts {
  std::optional<Amount> cpu;
  std::optional<Amount> gpu;
  std::optional<Amount> tpu;
  std::optional<std::uint64_t> memory;  ///< bytes
  std::map<std::string, Quantity> custom;
};

/// Reads a map of resources; `path` names it in messages. Amounts are 0 or at least 0.0001 (Ray's
/// smallest); null means not given; `cpu`, `gpu` and `Memory` are errors, as misspellings.
Amounts read_amounts(const YamlNode& mapping, const std::string& path, Diagnostics& diagnostics);

}  // namespace train
