// SPDX-License-Identifier: Apache-2.0
// Separate from rank_environment.cpp, which depends on everything that a plan consists of: hosts
// need only this part.
#include "launcher/rendezvous/session_variables.hpp"

#include <algorithm>
#include <array>

namespace train {

bool is_scrubbed(std::string_view name) {
  constexpr std::array<std::string_view, 10> prefixes{"SLURM_", "SLURMD_",        "SRUN_", "OMPI_",
                                                      "PMI_",   "TORCHELASTIC_",  "PMI2_", "PMIX_",
                                                      "PRTE_",  "MV2_COMM_WORLD_"};
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

std::span<const std::string_view> ruled_out_by(std::string_view name, std::string_view value) {
  static constexpr std::array<std::string_view, 3> of_rocr{
      "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};
  static constexpr std::array<std::string_view, 1> of_oneapi{"ZE_AFFINITY_MASK"};
  static constexpr std::array<std::string_view, 3> of_cuda{
      "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"};
  if (name == "ROCR_VISIBLE_DEVICES") return of_rocr;
  if (name == "ONEAPI_DEVICE_SELECTOR") return of_oneapi;
  if (name == "CUDA_VISIBLE_DEVICES" && !value.empty()) return of_cuda;
  return {};
}

}  // namespace train
