// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/gpu_count.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <utility>

#include "backends/accelerator/gpu_files.hpp"
#include "config_schema/hosts/accelerators.hpp"

namespace train {

namespace {

constexpr unsigned long long most_nodes = 4'096;

using Session = std::map<std::string, std::string>;

// A GPU that a driver shows.
struct Gpu {
  std::string uuid;
  std::string model = {};
  std::string file = {};  ///< device file; NVIDIA only
  int node = -1;          ///< NUMA node; -1: not known
  bool is_usable = true;
  bool is_split = false;
};

// Domain, bus, device and function of "0000:07:00.0".
using BusPlace = std::tuple<unsigned, unsigned, unsigned, unsigned>;

std::optional<BusPlace> bus_place(const std::string& name) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  char rest = 0;
  if (std::sscanf(name.c_str(), "%x:%x:%x.%x%c", &domain, &bus, &device, &function, &rest) != 4)
    return std::nullopt;
  return BusPlace(domain, bus, device, function);
}

// The file contains -1 if the kernel does not know the node.
int node_of(const GpuFiles& files, const BusPlace& place) {
  const auto [domain, bus, device, function] = place;
  const std::string text =
      small_text(fmt::format("{}/bus/pci/devices/{:04x}:{:02x}:{:02x}.{:x}/numa_node", files.sys,
                             domain, bus, device, function));
  const auto node = number_of(std::string_view(text).substr(0, text.find('\n')));
  return node && *node < most_nodes ? static_cast<int>(*node) : -1;
}

bool has_setuid(const std::string& program) {
  struct stat status {};
  return ::stat(program.c_str(), &status) == 0 && (status.st_mode & S_ISUID) != 0;
}

// A GPU in MIG mode has a folder with one folder for each instance.
bool is_in_mig_mode(const GpuFiles& files, const std::string& minor) {
  const auto instances =
      visible_names_in(fmt::format("{}/driver/nvidia/capabilities/gpu{}/mig", files.proc, minor));
  return std::any_of(instances.begin(), instances.end(),
                     [](const std::string& name) { return name.starts_with("gi"); });
}

// In PCI bus order, which is CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID.
std::vector<Gpu> nvidia_gpus(const GpuFiles& files) {
  const std::string folder = files.proc + "/driver/nvidia/gpus";
  std::vector<std::pair<BusPlace, std::string>> places;
  for (const std::string& name : visible_names_in(folder))
    if (const auto place = bus_place(name)) places.emplace_back(*place, name);
  std::sort(places.begin(), places.end());
  // If a host has no device files, CUDA makes them if it has the permission (setuid
  // nvidia-modprobe); a container without GPUs has no device files either.
  const bool are_made = is_there(files.dev + "/nvidiactl");
  const bool may_be_made = !are_made && has_setuid(files.nvidia_modprobe);
  std::vector<Gpu> gpus;
  for (const auto& [place, name] : places) {
    if (gpus.size() == most_gpus) break;
    const std::string text = small_text(fmt::format("{}/{}/information", folder, name));
    if (value_of(text, "GPU Excluded", ':') == "Yes" || value_of(text, "Blacklisted", ':') == "Yes")
      continue;
    const std::string minor(value_of(text, "Device Minor", ':'));
    std::string file = fmt::format("{}/nvidia{}", files.dev, minor);
    const bool is_usable = are_made ? may_use(file) : may_be_made;
    gpus.push_back({.uuid = std::string(value_of(text, "GPU UUID", ':')),
                    .model = std::string(value_of(text, "Model", ':')),
                    .file = std::move(file),
                    .node = node_of(files, place),
                    .is_usable = is_usable,
                    .is_split = is_in_mig_mode(files, minor)});
  }
  return gpus;
}

// Whether there is a driver of WSL or Tegra, which show nothing in /proc.
bool has_unknown_driver(const GpuFiles& files) {
  const bool is_wsl = is_there(files.dev + "/dxg") && is_there(files.wsl_library);
  return is_wsl || is_there(files.dev + "/nvhost-ctrl-gpu") || is_there(files.dev + "/nvgpu");
}

std::uint64_t own_memory(const std::string& node) {
  std::uint64_t bytes = 0;
  for (const std::string& bank : visible_names_in(node + "/mem_banks")) {
    const std::string text = small_text(fmt::format("{}/mem_banks/{}/properties", node, bank));
    if (value_of(text, "heap_type", ' ') == "0") continue;  // the machine's memory
    bytes += number_of(value_of(text, "size_in_bytes", ' ')).value_or(0);
  }
  return bytes;
}

// From the properties of a node: location_id is the bus, then five bits of the device and three of
// the function.
BusPlace bus_place_of_kfd(std::string_view properties) {
  const auto at = [&](const char* key) {
    return static_cast<unsigned>(number_of(value_of(properties, key, ' ')).value_or(0));
  };
  const unsigned location = at("location_id");
  return {at("domain"), location >> 8 & 0xff, location >> 3 & 0x1f, location & 7};
}

std::vector<Gpu> amd_gpus(const GpuFiles& files) {
  constexpr std::uint64_t least_memory = std::uint64_t{4} << 30;
  const std::string folder = files.sys + "/class/kfd/kfd/topology/nodes";
  std::vector<unsigned long long> nodes;
  for (const std::string& name : visible_names_in(folder))
    if (const auto number = number_of(name)) nodes.push_back(*number);
  std::sort(nodes.begin(), nodes.end());
  const bool may_use_driver = may_use(files.dev + "/kfd");
  std::vector<Gpu> gpus;
  for (const unsigned long long number : nodes) {
    if (gpus.size() == most_gpus) break;
    const std::string node = fmt::format("{}/{}", folder, number);
    const std::string text = small_text(node + "/properties");
    const bool is_gpu = number_of(value_of(text, "simd_count", ' ')).value_or(0) > 0 &&
                        number_of(value_of(text, "cpu_cores_count", ' ')).value_or(0) == 0;
    if (!is_gpu || own_memory(node) < least_memory) continue;
    const auto unique = number_of(value_of(text, "unique_id", ' ')).value_or(0);
    const std::string_view minor = value_of(text, "drm_render_minor", ' ');
    gpus.push_back({.uuid = unique == 0 ? "" : fmt::format("GPU-{:016x}", unique),
                    .node = node_of(files, bus_place_of_kfd(text)),
                    .is_usable = may_use_driver &&
                                 may_use(fmt::format("{}/dri/renderD{}", files.dev, minor))});
  }
  return gpus;
}

std::vector<Gpu> usable_ones(std::vector<Gpu> gpus) {
  std::erase_if(gpus, [](const Gpu& gpu) { return !gpu.is_usable; });
  return gpus;
}

std::vector<std::string> uuids_of(const std::vector<Gpu>& gpus) {
  std::vector<std::string> uuids;
  uuids.reserve(gpus.size());
  for (const Gpu& gpu : gpus) uuids.push_back(gpu.uuid);
  return uuids;
}

std::string type_of_all(const std::vector<Gpu>& gpus) {
  const bool is_one = std::all_of(gpus.begin(), gpus.end(),
                                  [&](const Gpu& gpu) { return gpu.model == gpus.front().model; });
  return gpus.empty() || !is_one ? "" : accelerator_type_of(gpus.front().model);
}

std::string_view first_entry(std::string_view list) {
  const std::size_t begin = std::min(list.find_first_not_of(" \t"), list.size());
  return list.substr(begin, list.find(',', begin) - begin);
}

// Why the kernel's files are not enough to resolve the session's list of devices.
HostGpus::Obstacle obstacle_of(std::string_view list, const std::vector<std::string>& uuids) {
  const std::string_view first = first_entry(list);
  if (first.starts_with("MIG-")) return HostGpus::Obstacle::mig_in_session;
  const bool are_shown = std::none_of(uuids.begin(), uuids.end(), [](const std::string& uuid) {
    return uuid.empty() || uuid.find('?') != uuid.npos;
  });
  return first.starts_with("GPU-") && !are_shown ? HostGpus::Obstacle::uuids_not_shown
                                                 : HostGpus::Obstacle::none;
}

void add_nvidia(const Session& session, const GpuFiles& files, HostGpus& counted) {
  const std::vector<Gpu> all = nvidia_gpus(files);
  const std::vector<Gpu> gpus = usable_ones(all);
  std::vector<int> visible;
  const auto list = session.find("CUDA_VISIBLE_DEVICES");
  if (list == session.end()) {
    for (std::size_t i = 0; i < gpus.size(); ++i) visible.push_back(static_cast<int>(i));
  } else {
    const std::vector<std::string> uuids = uuids_of(gpus);
    if (!gpus.empty()) counted.obstacle = obstacle_of(list->second, uuids);
    visible = visible_devices(list->second, uuids);
  }
  for (const int index : visible) {
    if (gpus[static_cast<std::size_t>(index)].is_split)
      ++counted.split;
    else
      counted.cuda.push_back(index);
  }
  counted.hidden += static_cast<int>(all.size() - visible.size());
  if (all.empty() && has_unknown_driver(files))
    counted.obstacle = HostGpus::Obstacle::driver_unknown;
}

// HIP's list refers to the devices that ROCr's list leaves; HIP uses CUDA's variable if its own is
// not set.
void add_amd(const Session& session, const GpuFiles& files, HostGpus& counted) {
  const std::vector<Gpu> all = amd_gpus(files);
  const std::vector<Gpu> gpus = usable_ones(all);
  for (std::size_t i = 0; i < gpus.size(); ++i) counted.rocm.push_back(static_cast<int>(i));
  const auto keep = [&](const char* name) {
    const auto list = session.find(name);
    if (list == session.end()) return false;
    std::vector<std::string> uuids;
    for (const int index : counted.rocm)
      uuids.push_back(gpus[static_cast<std::size_t>(index)].uuid);
    std::vector<int> kept;
    for (const int position : visible_devices(list->second, uuids))
      kept.push_back(counted.rocm[static_cast<std::size_t>(position)]);
    counted.rocm = std::move(kept);
    return true;
  };
  keep("ROCR_VISIBLE_DEVICES");
  if (!keep("HIP_VISIBLE_DEVICES")) keep("CUDA_VISIBLE_DEVICES");
  counted.hidden += static_cast<int>(all.size() - counted.rocm.size());
}

}  // namespace

GpuIdentities gpu_identities(const GpuFiles& files) {
  const std::vector<Gpu> nvidia = usable_ones(nvidia_gpus(files));
  GpuIdentities identities{uuids_of(nvidia), uuids_of(usable_ones(amd_gpus(files)))};
  for (const Gpu& gpu : nvidia) identities.cuda_files.push_back(gpu.file);
  identities.cuda_type = type_of_all(nvidia);
  // A driver that hides UUIDs shows "GPU-????????-...".
  for (std::string& uuid : identities.cuda)
    if (uuid.find('?') != uuid.npos) uuid.clear();
  return identities;
}

GpuNodes gpu_nodes(const GpuFiles& files) {
  GpuNodes nodes;
  for (const Gpu& gpu : usable_ones(nvidia_gpus(files))) nodes.cuda.push_back(gpu.node);
  for (const Gpu& gpu : usable_ones(amd_gpus(files))) nodes.rocm.push_back(gpu.node);
  return nodes;
}

HostGpus count_gpus(const Session& session, const GpuFiles& files) {
  HostGpus counted;
  add_nvidia(session, files, counted);
  add_amd(session, files, counted);
  return counted;
}

}  // namespace train
