// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/plan/plan.hpp"

namespace train {

/// The TCP ports that the ranks of a run listen on. The agents hold them from the first phase on,
/// so that nobody else takes them. A host's are told apart by their order: rendezvous, MEGASCALE,
/// then one for each of its ranks.
struct PortNeeds {
  bool rendezvous = true;   ///< one on rank 0's host: MASTER_PORT, or jax's coordinator
  int megascale_host = -1;  ///< node rank of the host with one for MEGASCALE_PORT; -1: none
  bool workers = false;     ///< one for each rank, on its host: TF_CONFIG

  bool operator==(const PortNeeds&) const = default;
};

/// What the framework and the TPU slices of a plan need.
PortNeeds port_needs(const Plan& plan);

/// How many ports the host of this node rank holds.
int held_ports(const PortNeeds& needs, const Trial& trial, int host);

}  // namespace train
