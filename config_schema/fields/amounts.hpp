// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "config_schema/text/diagnostics.hpp"
#include "config_schema/text/quantity.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// An amount that was written, with its place.
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
/// smallest); null is nothing said; `cpu`, `gpu` and `Memory` are taken for misspellings.
Amounts read_amounts(const YamlNode& mapping, const std::string& path, Diagnostics& diagnostics);

}  // namespace train
