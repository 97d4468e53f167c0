// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/plan/plan.hpp"

namespace train {

/// The TCP ports that the ranks of a run listen on. The agents reserve them from the first phase
/// on, so that no other program takes them. Those of one host are identified by their order:
/// rendezvous, MEGASCALE, then one for each of its ranks.
struct PortNeeds {
  bool rendezvous = true;   ///< one on rank 0's host: MASTER_PORT, or jax's coordinator
  int megascale_host = -1;  ///< node rank of the host with one for MEGASCALE_PORT; -1: none
  bool workers = false;     ///< one for each rank, on its host: TF_CONFIG

  bool operator==(const PortNeeds&) const = default;
};

/// The needs of the framework and the TPU slices of a plan.
PortNeeds port_needs(const Plan& plan);

/// How many ports the host with this node rank reserves.
int held_ports(const PortNeeds& needs, const Trial& trial, int host);

}  // namespace train
