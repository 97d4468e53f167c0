// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "config_schema/experiment/tpu_topology.hpp"
#include "launcher/rendezvous/groups.hpp"

namespace train {
namespace {

// How few chips of a host lie there, as libtpu wants to know it; it finds out itself for more.
// Source: Ray's TPU support (python/ray/_private/accelerators/tpu.py).
const char* bounds_of(std::size_t chips) {
  switch (chips) {
    case 1:
      return "1,1,1";
    case 2:
      return "1,2,1";
    default:
      return nullptr;
  }
}

}  // namespace

bool is_tpu_host(const Host& host) { return is_tpu_type(host.accelerator_type); }

void add_chips(const RankView& view, const std::vector<int>& chips, Variables& variables) {
  const Host& host = view.host.host;
  const int of_host = host.accelerators.value_or(host.slots.value_or(0));
  if (chips.empty() || static_cast<int>(chips.size()) >= of_host) return;
  variables.set("TPU_VISIBLE_CHIPS", fmt::format("{}", fmt::join(chips, ",")));
  if (const char* bounds = bounds_of(chips.size())) {
    variables.set("TPU_CHIPS_PER_HOST_BOUNDS", bounds);
    variables.set("TPU_HOST_BOUNDS", "1,1,1");
  }
}

void add_slice(const RankView& view, Variables& variables) {
  const Trial& trial = view.plan.trial;
  if (view.host.slice < 0) return;
  const PlannedSlice& slice = trial.slices[static_cast<std::size_t>(view.host.slice)];
  std::string names;
  for (const int host : slice.hosts)
    names += (names.empty() ? "" : ",") + trial.hosts[static_cast<std::size_t>(host)].host.address;
  variables.set("TPU_WORKER_ID", fmt::format("{}", view.host.slice_worker));
  variables.set("TPU_WORKER_HOSTNAMES", std::move(names));
  if (trial.slices.size() < 2) return;
  variables.set_at_launch("MEGASCALE_COORDINATOR_ADDRESS", AtLaunch::megascale_address);
  variables.set_at_launch("MEGASCALE_PORT", AtLaunch::megascale_port);
  variables.set("MEGASCALE_NUM_SLICES", fmt::format("{}", trial.slices.size()));
  variables.set("MEGASCALE_SLICE_ID", fmt::format("{}", view.host.slice));
}

}  // namespace train
