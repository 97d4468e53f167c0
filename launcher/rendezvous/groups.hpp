// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/plan/plan.hpp"
#include "launcher/rendezvous/cross_ranks.hpp"
#include "launcher/rendezvous/variables.hpp"

namespace train {

/// One rank and where it is.
struct RankView {
  const Plan& plan;
  const PlannedRank& rank;
  const PlannedHost& host;
  const CrossRanks& cross_ranks;  ///< of no trial where nobody asks for them
};

/// The groups of variables that `train` sets itself; what they set replaces what users say.

/// Whether the process of a host starts the workers there itself, as torchrun does, and its
/// environment is theirs. With the other frameworks a process per host is one worker.
bool is_host_launcher(const ExperimentConfig& experiment);

/// What the ranks of the framework find each other by: torchrun's worker environment, or with
/// `processes: per_host` the arguments of torchrun itself as `PET_*`; what DeepSpeed adds to that;
/// jax's; TensorFlow's; Horovod's; Open MPI's; nothing.
void add_rendezvous(const RankView& view, Variables& variables);
/// `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`, or what the maker of the devices has instead,
/// and `TRAIN_DEVICE_INDICES`. From the devices that the host declares, or else what its slots turn
/// out to be at launch; an empty list for ranks that were given no GPU. On a TPU host
/// `TRAIN_DEVICE_INDICES`, and what `add_chips` adds.
void add_devices(const RankView& view, Variables& variables);
/// Whether the accelerators of the host are TPU chips: by their type, in any case.
bool is_tpu_host(const Host& host);
/// `TPU_VISIBLE_CHIPS` and the bounds that belong to it, for a rank with fewer chips than its host.
void add_chips(const RankView& view, const std::vector<int>& chips, Variables& variables);
/// Of a host on a TPU slice: `TPU_WORKER_ID` and `TPU_WORKER_HOSTNAMES`, and with several slices
/// `MEGASCALE_*`.
void add_slice(const RankView& view, Variables& variables);
/// `TRAIN_*`.
void add_own(const RankView& view, Variables& variables);

/// Variables with a value of ours unless the user has set them.
void add_defaults(const RankView& view, Variables& variables);

}  // namespace train
