// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/accelerator/device_program.hpp"

namespace train {

/// The program train-devices, which is embedded in this binary (embed_devices.cmake).
DeviceProgram embedded_devices();

}  // namespace train
