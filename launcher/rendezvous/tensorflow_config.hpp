// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace train {

/// The value of TF_CONFIG for the worker at `index` of a cluster whose workers listen on these
/// "address:port" (numeric), in order: the first is TensorFlow's chief.
/// Source: TensorFlow's guide "Multi-worker training with Keras", "TF_CONFIG".
std::string tensorflow_config(const std::vector<std::string>& workers, int index);

/// The length in bytes of the longest TF_CONFIG of these workers, including the name of the
/// variable.
std::size_t tensorflow_config_size(const std::vector<std::string>& workers);

}  // namespace train
