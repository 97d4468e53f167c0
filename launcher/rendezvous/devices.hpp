// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/rendezvous/variables.hpp"

namespace train {

/// `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`, or the equivalent for the maker of the devices,
/// and `TRAIN_DEVICE_INDICES`. Uses the devices that the host declares, or else those that its
/// slots turn out to be at launch; an empty list for ranks without a GPU. On a TPU host
/// `TRAIN_DEVICE_INDICES`, and for a rank with fewer chips than its host `TPU_VISIBLE_CHIPS` and
/// the matching bounds.
void add_devices(const RankView& view, Variables& variables);

/// For a host on a TPU slice: `TPU_WORKER_ID` and `TPU_WORKER_HOSTNAMES`, and with several slices
/// `MEGASCALE_*`.
void add_slice(const RankView& view, Variables& variables);

}  // namespace train
