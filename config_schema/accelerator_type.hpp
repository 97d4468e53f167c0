// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace train {

/// The accelerator type, as Ray writes it, of a device whose driver calls it `driver_name`.
///
/// Data-centre models are their model alone ("NVIDIA A100-SXM4-40GB" -> "A100", "Tesla
/// V100-SXM2-16GB"
/// -> "V100"); "NVIDIA RTX PRO 6000 Blackwell Server Edition" is Ray's "RTX-PRO-6000"; everything
/// else keeps its whole name without the maker ("NVIDIA GeForce RTX 4090" -> "GeForce-RTX-4090").
/// Empty for an empty name. Source of the constants: `ray.util.accelerators`.
std::string accelerator_type_of(std::string_view driver_name);

}  // namespace train
