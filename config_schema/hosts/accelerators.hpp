// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The accelerator type, in Ray's form, of a device that its driver names `driver_name`.
///
/// Data-centre models are reduced to the model ("NVIDIA A100-SXM4-40GB" is "A100", "Tesla
/// V100-SXM2-16GB" is "V100"); "NVIDIA RTX PRO 6000 Blackwell Server Edition" is Ray's
/// "RTX-PRO-6000"; all others keep their whole name without the maker ("NVIDIA GeForce RTX 4090" is
/// "GeForce-RTX-4090"). Empty for an empty name. Source of the constants: `ray.util.accelerators`.
std::string accelerator_type_of(std::string_view driver_name);

/// The maker of a device. Each maker has its own environment variable that selects the devices that
/// a process sees.
enum class AcceleratorMaker { nvidia, amd, intel_gpu, intel_gaudi, aws_neuron, huawei_ascend };

/// The maker for a type in Ray's form, in any case ("AMD-Instinct-MI300X", "aws-neuron-core");
/// NVIDIA for all others, also for an empty type. Not for TPUs.
AcceleratorMaker maker_of(std::string_view accelerator_type);

/// The devices that a value of CUDA_VISIBLE_DEVICES makes visible, as positions in `uuids`, in the
/// order of the value. CUDA's own rules: entries are all indices or all UUIDs (any unique prefix of
/// "GPU-..."); the first entry that names no device ("-1", "9" of 8, an ambiguous prefix) ends the
/// list; a device named twice makes none visible, and so does an empty value. A number may be
/// followed by other characters ("1gpu" is 1), as CUDA reads it. "MIG-..." names no whole device.
/// Source: CUDA C++ Programming Guide, "CUDA Environment Variables".
std::vector<int> visible_devices(std::string_view value, const std::vector<std::string>& uuids);

}  // namespace train
