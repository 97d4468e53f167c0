# SPDX-License-Identifier: Apache-2.0
# Writes the source that puts train-devices into the agent, as it is: it is small.
#   cmake -D PROGRAM=program -D SOURCE=file.cpp -P embed_devices.cmake
file(SHA256 "${PROGRAM}" sha256)
# The checksum tells the compiler's cache that the program has changed.
file(WRITE "${SOURCE}" "// Written by embed_devices.cmake: ${sha256}
#include \"cli/embedded_devices.hpp\"

asm(R\"(.pushsection .rodata.train_devices,\"a\"
.global train_devices_program
.global train_devices_program_end
train_devices_program: # ${sha256}
.incbin \"${PROGRAM}\"
train_devices_program_end:
.popsection)\");

extern \"C\" const char train_devices_program[];
extern \"C\" const char train_devices_program_end[];

train::DeviceProgram train::embedded_devices() {
  const auto size = static_cast<std::size_t>(train_devices_program_end - train_devices_program);
  return {{train_devices_program, size}};
}
")
