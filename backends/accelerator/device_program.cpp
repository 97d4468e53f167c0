// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/device_program.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <string>
#include <utility>
#include <vector>

#include "backends/accelerator/gpu_files.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/short_run.hpp"

namespace train {

namespace {

// Since 6.3 Linux needs a flag for a memfd that is to be executed; earlier kernels refuse the flag.
Descriptor executable_memory() {
  constexpr unsigned executable = 0x10;  // MFD_EXEC
  Descriptor file(::memfd_create(DeviceProgram::name, MFD_CLOEXEC | executable));
  if (!file && errno == EINVAL) file = Descriptor(::memfd_create(DeviceProgram::name, MFD_CLOEXEC));
  return file;
}

ProgramCall call_of(const Descriptor& file, std::vector<std::string> arguments) {
  return {.program = DeviceProgram::name,
          .arguments = std::move(arguments),
          .environment = environment_texts(),
          .program_file = file.get()};
}

bool is_driver_there(const GpuFiles& files) { return is_there(files.proc + "/driver/nvidia"); }

tl::unexpected<Error> cannot_ask(const std::string& why, const std::string& next_step) {
  return fail(ErrorClass::host,
              fmt::format("{} could not ask NVIDIA's driver: {}", DeviceProgram::name, why),
              next_step);
}

}  // namespace

Result<Descriptor> file_of(const DeviceProgram& program) {
  Descriptor file = executable_memory();
  const int error = file ? write_whole(file.get(), program.bytes) : errno;
  if (error != 0)
    return fail(
        ErrorClass::host,
        fmt::format("{} cannot be put into memory: {}", DeviceProgram::name, system_reason(error)),
        error == EACCES ? "the host lets nothing be executed from memory "
                          "(sysctl vm.memfd_noexec)"
                        : "");
  return above_standard(std::move(file));
}

Result<DeviceReport> ask_devices(const DeviceProgram& program, milliseconds limit,
                                 const GpuFiles& files) {
  if (!is_driver_there(files)) return DeviceReport();
  const auto file = file_of(program);
  if (!file) return tl::make_unexpected(file.error());
  const ProgramCall call = call_of(*file, {DeviceProgram::name});
  const auto line = run_shortly(call, limit, longest_device_report);
  if (!line)
    return cannot_ask(line.error().diagnostics.front().message,
                      "see what 'nvidia-smi' and 'dmesg' say on this host");
  if (!line->ends_with('\n')) return cannot_ask("its answer is torn", "");
  return decode_device_report(std::string_view(*line).substr(0, line->size() - 1));
}

Result<std::optional<ConnectedProcess>> start_gpu_watch(const DeviceProgram& program,
                                                        std::chrono::seconds pause,
                                                        const GpuFiles& files) {
  if (!is_driver_there(files)) return std::nullopt;
  const auto file = file_of(program);
  if (!file) return tl::make_unexpected(file.error());
  auto started = start_connected(
      call_of(*file, {DeviceProgram::name, "watch", std::to_string(pause.count())}));
  if (!started) return tl::make_unexpected(started.error());
  return std::move(*started);
}

}  // namespace train
