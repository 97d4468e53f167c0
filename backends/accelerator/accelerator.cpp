// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/accelerator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <tuple>

#include "backends/accelerator/nvml.hpp"
#include "backends/posix/files.hpp"
#include "config_schema/hosts/accelerators.hpp"

namespace train {
namespace {

// More than any machine has; a larger count is taken for an error of the library.
constexpr unsigned int max_devices = 1024;

/// Calls nvmlInit_v2, and nvmlShutdown at the end.
class NvmlSession {
 public:
  explicit NvmlSession(const nvml::Library& library) : library_(library), status_(library.init()) {}
  ~NvmlSession() {
    if (status_ == nvml::success) library_.shutdown();
  }
  NvmlSession(const NvmlSession&) = delete;
  NvmlSession& operator=(const NvmlSession&) = delete;

  nvml::Return status() const { return status_; }

 private:
  const nvml::Library& library_;
  nvml::Return status_;
};

std::string next_step(nvml::Return status) {
  if (status == nvml::lib_rm_version_mismatch)
    return "the driver was updated while its kernel module stayed loaded: reboot, or unload and "
           "load the module";
  if (status == nvml::driver_not_loaded)
    return "load the driver ('modprobe nvidia'), or name what to use with -H or a hosts file";
  return "see what 'nvidia-smi' says, or name what to use with -H or a hosts file";
}

tl::unexpected<Error> nvml_failure(const nvml::Library& library, std::string_view doing,
                                   nvml::Return status) {
  const char* words = library.error_string(status);
  return fail(ErrorClass::host,
              fmt::format("cannot {}: NVML says '{}' (error {})", doing,
                          words != nullptr ? words : "unknown", status),
              next_step(status));
}

std::string first_line(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// Whether there is an NVIDIA display or 3D controller on the PCI bus.
bool has_nvidia_gpu(const std::string& pci_devices) {
  const std::vector<std::string> devices = names_in(FolderReader(pci_devices));
  return std::any_of(devices.begin(), devices.end(), [&](const std::string& device) {
    const std::string folder = fmt::format("{}/{}/", pci_devices, device);
    return first_line(folder + "vendor") == "0x10de" &&
           first_line(folder + "class").starts_with("0x03");
  });
}

/// A device with its place on the PCI bus.
struct Located {
  Accelerator accelerator;
  std::tuple<unsigned int, unsigned int, unsigned int> place;
};

Result<Located> describe(const nvml::Library& library, nvml::Device device, unsigned int index) {
  std::array<char, nvml::text_size> name{};
  std::array<char, nvml::text_size> uuid{};
  if (const auto status = library.device_get_name(device, name.data(), name.size() - 1))
    return nvml_failure(library, fmt::format("read the name of GPU {}", index), status);
  if (const auto status = library.device_get_uuid(device, uuid.data(), uuid.size() - 1))
    return nvml_failure(library, fmt::format("read the UUID of GPU {}", index), status);
  Located located;
  located.accelerator.name = name.data();
  located.accelerator.type = accelerator_type_of(name.data());
  located.accelerator.uuid = uuid.data();
  // Failures for memory and bus are ignored: integrated GPUs have neither of their own.
  nvml::Memory memory;
  if (library.device_get_memory_info(device, &memory) == nvml::success)
    located.accelerator.memory = memory.total;
  nvml::PciInfo pci;
  if (library.device_get_pci_info(device, &pci) == nvml::success) {
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    located.accelerator.pci_bus_id = pci.bus_id;
    located.place = {pci.domain, pci.bus, pci.device};
  }
  return located;
}

std::vector<Accelerator> in_bus_order(std::vector<Located> devices) {
  const bool all_located = std::all_of(devices.begin(), devices.end(), [](const Located& device) {
    return !device.accelerator.pci_bus_id.empty();
  });
  // NVML promises bus order; sorts to make sure.
  if (all_located)
    std::stable_sort(devices.begin(), devices.end(),
                     [](const Located& a, const Located& b) { return a.place < b.place; });
  std::vector<Accelerator> accelerators;
  for (Located& device : devices) {
    device.accelerator.index = static_cast<int>(accelerators.size());
    accelerators.push_back(std::move(device.accelerator));
  }
  return accelerators;
}

Result<std::vector<Accelerator>> read_devices(const nvml::Library& library) {
  unsigned int count = 0;
  if (const auto status = library.device_get_count(&count))
    return nvml_failure(library, "count the GPUs", status);
  if (count > max_devices)
    return fail(ErrorClass::host, fmt::format("NVML says that this machine has {} GPUs", count),
                "name what to use with -H or a hosts file");
  std::vector<Located> devices;
  for (unsigned int index = 0; index < count; ++index) {
    nvml::Device device = nullptr;
    const auto status = library.device_get_handle_by_index(index, &device);
    // NVML counts this GPU, but this user may not use it (a container, a scheduler), and CUDA does
    // not show it either.
    if (status == nvml::no_permission) continue;
    if (status != nvml::success)
      return nvml_failure(library, fmt::format("reach GPU {}", index), status);
    auto located = describe(library, device, index);
    if (!located) return tl::make_unexpected(std::move(located.error()));
    devices.push_back(std::move(*located));
  }
  return in_bus_order(std::move(devices));
}

std::string driver_version(const nvml::Library& library) {
  std::array<char, nvml::text_size> version{};
  if (library.system_get_driver_version(version.data(), version.size() - 1) != nvml::success)
    return {};
  return version.data();
}

}  // namespace

Result<std::vector<Accelerator>> list_accelerators(const AcceleratorSource& source) {
  const nvml::Loaded loaded = nvml::load(source.nvml_library);
  if (!loaded.found) return {};
  if (!loaded.error.empty())
    return fail(ErrorClass::host,
                fmt::format("cannot load the NVIDIA driver's library: {}", loaded.error),
                "install the library that belongs to the driver, or name what to use with -H or a "
                "hosts file");
  const NvmlSession session(loaded.library);
  // Many containers and login nodes have the library without driver and GPU: that is no error.
  if (session.status() == nvml::driver_not_loaded && !has_nvidia_gpu(source.pci_devices)) return {};
  if (session.status() != nvml::success)
    return nvml_failure(loaded.library, "use the NVIDIA driver", session.status());
  auto accelerators = read_devices(loaded.library);
  if (accelerators) return accelerators;
  const std::string version = driver_version(loaded.library);
  if (version.empty()) return accelerators;
  return tl::make_unexpected(
      with_context(std::move(accelerators.error()), fmt::format("driver {}", version)));
}

}  // namespace train
