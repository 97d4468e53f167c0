// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "backends/accelerator/gpu_count.hpp"
#include "backends/posix/connected_process.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/device_report.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// The program `train-devices`, embedded in this program.
struct DeviceProgram {
  static constexpr const char* name = "train-devices";
  std::string_view bytes;
};

/// The program in a file in memory (memfd), for `ProgramCall::program_file`. Class `host` if it
/// cannot be made.
Result<Descriptor> file_of(const DeviceProgram& program);

/// The report of NVIDIA's driver about its GPUs. Runs the program in a process of its own, which
/// starts from memory and is killed at the limit, even if the driver hangs or crashes. A process
/// that hangs in the kernel is left. If /proc shows no NVIDIA driver, nothing is run and the report
/// is empty.
///
/// Errors are of class `host`: the program cannot be started, has not ended within the limit, was
/// ended by a signal, or has written no report. An error that the driver itself returns is part of
/// the report (its `trouble`).
Result<DeviceReport> ask_devices(const DeviceProgram& program, milliseconds limit,
                                 const GpuFiles& files = {});

/// Starts the program from memory, to write what the GPUs do: a line for `decode_gpu_uses` at once
/// and then after each pause, of at most 9999 s. It ends when its stream is closed, and dies with
/// this thread. Nothing if /proc shows no NVIDIA driver. Class `host` if it cannot be started.
Result<std::optional<ConnectedProcess>> start_gpu_watch(const DeviceProgram& program,
                                                        std::chrono::seconds pause,
                                                        const GpuFiles& files = {});

}  // namespace train
