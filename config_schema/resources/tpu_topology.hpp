// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The chips of one slice and how they are spread over hosts.
struct TpuSlice {
  int chips = 0;
  int hosts = 0;           ///< >= 1
  int chips_per_host = 0;  ///< 1, 2, 4 or 8
};

/// The generation ("v4", "v5litepod") of a type as users write it: any case, with or without
/// `TPU-`, and "tpu7x". Nothing if Ray does not know it.
std::optional<std::string> tpu_generation(std::string_view type);

/// Whether hosts with accelerators of this type have TPU chips: "TPU", "TPU-V6E", "v5p".
bool is_tpu_type(std::string_view type);

/// The canonical form of a type, so that equal types compare equal: TPUs as Ray's constants ("v6e"
/// is "TPU-V6E"), others unchanged.
std::string canonical_accelerator_type(const std::string& type);

/// Every generation, oldest first.
std::vector<std::string> tpu_generations();

/// The slice of a topology ("4x4", "2x2x2") of a generation; nothing if there is no such shape.
/// Shapes and hosts are those of Ray's TPU support.
std::optional<TpuSlice> tpu_slice(std::string_view generation, std::string_view topology);

/// The shapes of a generation for a message: "2x2x1, 2x2x2, ... and AxBxC in multiples of 4 up to
/// 12x12x16".
std::string tpu_shapes(std::string_view generation);

}  // namespace train
