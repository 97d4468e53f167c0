// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace train {

/// Whether a variable that a host's session brings is kept from the ranks: leftovers of another
/// launcher (`SLURM_*`, `OMPI_*`, `PMI_*`, `TORCHELASTIC_*`, and those of PMIx, PRRTE and MVAPICH).
bool is_scrubbed(std::string_view name);

/// The variables that a host's session brings and a rank's own variable rules out: HIP counts its
/// list of devices within what `ROCR_VISIBLE_DEVICES` leaves, oneAPI within `ZE_AFFINITY_MASK`.
std::span<const std::string_view> ruled_out_by(std::string_view name);

}  // namespace train
