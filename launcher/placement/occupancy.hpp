// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config_schema/text/quantity.hpp"

namespace train {

/// What one holder has of one host now. Placement gives none of it away.
struct HostUse {
  std::string host;               ///< its name in the inventory; others are passed over
  std::string holder;             ///< who and what, for people: "task 3f9c of alice"
  std::map<int, Quantity> slots;  ///< share of each slot, by its index; 1 and above: all of it
  Quantity cpus = {};
  std::uint64_t memory = 0;  ///< bytes
  std::map<std::string, Quantity> custom = {};

  bool operator==(const HostUse&) const = default;
};

/// All that is held on the hosts of an inventory; empty: every host is idle.
using Occupancy = std::vector<HostUse>;

}  // namespace train
