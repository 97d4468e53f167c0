// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pictures of small clusters, built by hand.

#include <string>
#include <utility>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

namespace train {

/// Slots of one host that somebody holds.
inline HostUse use_of(const std::string& host, const std::string& holder,
                      const std::vector<int>& slots, double share = 1) {
  HostUse use{.host = host, .holder = holder, .slots = {}};
  for (const int slot : slots) use.slots.emplace(slot, amount(share));
  return use;
}

/// A plan and the hosts that it was made of, kept for as long as a subject refers to them.
struct Scene {
  Plan plan;
  HostInventory usable;
  HostInventory named;
  Occupancy occupancy = {};

  PictureSubject subject(std::size_t most_rows = 16) const {
    return {.plan = plan,
            .usable = usable,
            .named = named,
            .occupancy = occupancy,
            .most_rows = most_rows};
  }
};

inline Scene scene_of(const ExperimentConfig& experiment, const HostInventory& hosts) {
  auto plan = make_plan(experiment, hosts);
  REQUIRE(plan);
  return {std::move(*plan), hosts, hosts};
}

}  // namespace train
