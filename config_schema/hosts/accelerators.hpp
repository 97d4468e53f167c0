// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The accelerator type, as Ray writes it, of a device whose driver calls it `driver_name`.
///
/// Data-centre models are their model alone ("NVIDIA A100-SXM4-40GB" is "A100", "Tesla
/// V100-SXM2-16GB" is "V100"); "NVIDIA RTX PRO 6000 Blackwell Server Edition" is Ray's
/// "RTX-PRO-6000"; everything else keeps its whole name without the maker ("NVIDIA GeForce RTX
/// 4090" is "GeForce-RTX-4090"). Empty for an empty name. Source of the constants:
/// `ray.util.accelerators`.
std::string accelerator_type_of(std::string_view driver_name);

/// Who makes a device. Each maker has its own environment variable that says which devices a
/// process sees.
enum class AcceleratorMaker { nvidia, amd, intel_gpu, intel_gaudi, aws_neuron, huawei_ascend };

/// The maker by the type as Ray writes it, in any case ("AMD-Instinct-MI300X", "aws-neuron-core");
/// NVIDIA for all else, no type included. Not for TPUs.
AcceleratorMaker maker_of(std::string_view accelerator_type);

/// The devices that a value of CUDA_VISIBLE_DEVICES leaves, as positions in `uuids`, in the order
/// of the value. CUDA's own rules: entries are all indices or all UUIDs (any unique prefix of
/// "GPU-..."); the first entry that names no device ("-1", "9" of 8, an ambiguous prefix) ends the
/// list; a device named twice leaves none; an empty value leaves none. A number may be followed by
/// other characters ("1gpu" is 1), as CUDA reads it. "MIG-..." names no whole device.
/// Source: CUDA C++ Programming Guide, "CUDA Environment Variables".
std::vector<int> visible_devices(std::string_view value, const std::vector<std::string>& uuids);

}  // namespace train
