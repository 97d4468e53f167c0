// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/accelerator/device_program.hpp"

namespace train {

/// The program train-devices, which this program carries (embed_devices.cmake).
DeviceProgram embedded_devices();

}  // namespace train
