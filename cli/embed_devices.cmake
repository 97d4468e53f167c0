# SPDX-License-Identifier: Apache-2.0
# Writes the source that puts train-devices into the agent, as it is: it is small.
#   cmake -D PROGRAM=program -D SOURCE=file.cpp -P embed_devices.cmake
include("${CMAKE_CURRENT_LIST_DIR}/embed_file.cmake")
embed_file(train_devices_program "${PROGRAM}")
file(WRITE "${SOURCE}" "// Written by embed_devices.cmake.
#include \"cli/agent/embedded_devices.hpp\"

${embedded}

train::DeviceProgram train::embedded_devices() {
  const auto size = static_cast<std::size_t>(train_devices_program_end - train_devices_program);
  return {{train_devices_program, size}};
}
")
