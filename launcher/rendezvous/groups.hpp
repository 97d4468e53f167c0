// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/plan.hpp"
#include "launcher/rendezvous/variables.hpp"

namespace train {

/// One rank and where it is.
struct RankView {
  const Plan& plan;
  const PlannedRank& rank;
  const PlannedHost& host;
};

/// The groups of variables that `train` sets itself; what they set replaces what users say.

/// torchrun's worker environment, or with `processes: per_host` the arguments of torchrun itself as
/// `PET_*`; jax's; nothing.
void add_rendezvous(const RankView& view, Variables& variables);
/// `CUDA_VISIBLE_DEVICES` (`ROCR_VISIBLE_DEVICES` for AMD), `CUDA_DEVICE_ORDER` and
/// `TRAIN_DEVICE_INDICES`. Only from device indices that the host declares; an empty list for ranks
/// that were given no GPU; nothing where a slot is a place and nobody speaks of GPUs.
void add_devices(const RankView& view, Variables& variables);
/// `TRAIN_*`.
void add_own(const RankView& view, Variables& variables);

/// Variables with a value of ours unless the user has set them.
void add_defaults(const RankView& view, Variables& variables);

}  // namespace train
