// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace train {

/// Whether a variable of a host's session is withheld from the ranks: leftovers of another launcher
/// (those of Slurm, `OMPI_*`, `PMI_*`, `TORCHELASTIC_*`, and those of PMIx, PRRTE and MVAPICH).
bool is_scrubbed(std::string_view name);

/// The session variables that are withheld from a rank that has the variable `name` of its own: HIP
/// counts its list of devices within `ROCR_VISIBLE_DEVICES`, oneAPI within `ZE_AFFINITY_MASK`.
/// Slurm sets the lists of all makers: next to a list of NVIDIA's GPUs that is not empty, some
/// programs refuse the others.
std::span<const std::string_view> ruled_out_by(std::string_view name, std::string_view value);

}  // namespace train
