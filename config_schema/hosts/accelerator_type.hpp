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

/// Who makes a device, which decides the variable that says which devices a process sees.
enum class AcceleratorMaker { nvidia, amd, intel_gpu, intel_gaudi, aws_neuron, huawei_ascend };

/// By the type as Ray writes it, in any case ("AMD-Instinct-MI300X", "aws-neuron-core"); NVIDIA for
/// all else, no type included. Not for TPUs.
AcceleratorMaker maker_of(std::string_view accelerator_type);

}  // namespace train
