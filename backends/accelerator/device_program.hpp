// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "backends/accelerator/gpu_count.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/device_report.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// The program `train-devices`, as this program carries it.
struct DeviceProgram {
  static constexpr const char* name = "train-devices";
  std::string_view bytes;
};

/// The program in a file in memory, as `ProgramCall::program_file` takes it. Class `host` where
/// there can be none.
Result<Descriptor> file_of(const DeviceProgram& program);

/// What NVIDIA's driver says of its GPUs: the program asks it, in a process of its own that starts
/// from memory and is ended at the limit, whatever the driver does to it. A process that hangs in
/// the kernel is left there. Where /proc shows no driver of NVIDIA, nothing is run and the report
/// is empty.
///
/// Errors are of class `host` and say what became of the program: it cannot be started, has not
/// ended within the limit, was ended by a signal, or has written no report. A driver that answers
/// with trouble is no error but a report with that trouble.
Result<DeviceReport> ask_devices(const DeviceProgram& program, milliseconds limit,
                                 const GpuFiles& files = {});

}  // namespace train
