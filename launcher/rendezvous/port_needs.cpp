// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/port_needs.hpp"

namespace train {

PortNeeds port_needs(const Plan& plan) {
  const Framework framework = plan.experiment.framework;
  PortNeeds needs;
  needs.rendezvous = framework == Framework::torch || framework == Framework::deepspeed ||
                     framework == Framework::jax;
  needs.workers = framework == Framework::tensorflow;
  if (plan.trial.slices.size() > 1) needs.megascale_host = plan.trial.slices.front().hosts.front();
  return needs;
}

int held_ports(const PortNeeds& needs, const Trial& trial, int host) {
  int count = 0;
  if (needs.rendezvous && host == 0) ++count;
  if (needs.megascale_host == host) ++count;
  if (needs.workers) count += trial.hosts[static_cast<std::size_t>(host)].rank_count;
  return count;
}

}  // namespace train
