// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/link/own_binary.hpp"
#include "backends/link/setup_window.hpp"

namespace train {

/// What transports share that serve the same launch. What is null, a transport makes for itself.
struct LinkCommons {
  std::shared_ptr<SetupWindow> window = nullptr;
  std::shared_ptr<BinaryPacker> packer = nullptr;
};

}  // namespace train
