// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The devices that a value of CUDA_VISIBLE_DEVICES leaves, as positions in `uuids`, in the order
/// of the value. CUDA's own rules: entries are all indices or all UUIDs (any unique prefix of
/// "GPU-..."); the first entry that names no device ("-1", "9" of 8, an ambiguous prefix) ends the
/// list; a device named twice leaves none; an empty value leaves none. A number may be followed by
/// other characters ("1gpu" is 1), as CUDA reads it. "MIG-..." names no whole device.
/// Source: CUDA C++ Programming Guide, "CUDA Environment Variables".
std::vector<int> visible_devices(std::string_view value, const std::vector<std::string>& uuids);

}  // namespace train
