// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/device_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "config_schema/text/duration.hpp"

namespace train {

namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
// A driver reserves some hundred MiB of a GPU for itself.
constexpr std::uint64_t noteworthy_memory = gibibyte;
constexpr std::int64_t day = 24 * 3600;

// Xids that a program causes by itself: a fault of its own addresses, or its end. They indicate no
// fault of the GPU.
constexpr std::array<int, 4> xids_of_programs = {13, 31, 43, 45};

bool is_of_program(int xid) {
  return std::find(xids_of_programs.begin(), xids_of_programs.end(), xid) != xids_of_programs.end();
}

// The reason for a slowdown, for people; empty if there is none.
std::string slowed_by(std::uint64_t reasons) {
  if ((reasons & (clock_hardware_thermal | clock_software_thermal)) != 0) return "heat";
  if ((reasons & clock_power_brake) != 0) return "its power supply";
  if ((reasons & clock_hardware_slowdown) != 0) return "heat or its power supply";
  return {};
}

// The most frequent number for each kind of GPU, by its name; the lowest in a tie.
template <class NumberOf>
std::map<std::string, int> usual_of(const std::vector<CheckedHost>& hosts, NumberOf number_of) {
  std::map<std::string, std::map<int, int>> counts;
  for (const CheckedHost& host : hosts)
    if (host.fitness)
      for (const DeviceFacts& device : host.fitness->devices.devices)
        if (const std::optional<int> number = number_of(device)) ++counts[device.name][*number];
  std::map<std::string, int> usual;
  for (const auto& [name, by_number] : counts)
    usual[name] =
        std::max_element(by_number.begin(), by_number.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
  return usual;
}

// Usual values over all hosts, by the name of the GPU.
struct Usual {
  std::map<std::string, int> links;  ///< NVLinks that are up
  std::map<std::string, int> peers;  ///< other GPUs of the host whose memory it can access
};

// nvmlGpuP2PStatus_t, for people.
const char* why_no_peer(int status) {
  switch (status) {
    case 1:
      return "the chipset does not support it";
    case 2:
      return "these GPUs do not support it";
    case 3:
      return "they are at different PCIe roots";
    case 4:
      return "the driver's settings forbid it";
    case 5:
      return "it is not supported";
    default:
      return "the driver does not say why";
  }
}

/// Collects the findings about the GPUs of one host.
class DeviceJudge {
 public:
  DeviceJudge(std::size_t host, const Usual& usual) : host_(host), usual_(usual) {}

  void look_at(const HostFitness& fitness) {
    if (!fitness.devices_trouble.empty())
      add(Fitness::unknown, fitness.devices_trouble,
          "'nvidia-smi' and 'dmesg' there show whether the driver hangs");
    const DeviceReport& report = fitness.devices;
    const std::size_t gpus = fitness.host.gpus.cuda.size();
    if (!report.trouble.empty()) return no_driver(report, gpus);
    if (!report.driver.empty() && report.devices.size() < gpus)
      add(Fitness::unfit,
          fmt::format("NVIDIA's library shows {} of its {} GPUs", report.devices.size(), gpus),
          "'nvidia-smi' and 'dmesg' there show which is lost");
    for (const DeviceFacts& device : report.devices) look_at(device);
    look_at_peers(report.devices);
  }

  std::vector<HostFinding> take() { return std::move(found_); }

 private:
  void add(Fitness fitness, std::string message, std::string hint = {}) {
    found_.push_back({host_, fitness, "gpus", std::move(message), std::move(hint)});
  }

  void no_driver(const DeviceReport& report, std::size_t gpus) {
    const bool is_mismatch = report.trouble.find("mismatch") != std::string::npos;
    add(gpus > 0 ? Fitness::unfit : Fitness::fit,
        "NVIDIA's library does not answer: " + report.trouble,
        is_mismatch ? "reboot it, or load the driver anew: it was updated while it ran"
                    : "'nvidia-smi' there should list the GPUs; install the driver's libraries");
  }

  void look_at(const DeviceFacts& device) {
    const std::string gpu = fmt::format("GPU {}", device.index);
    const std::string reset =
        fmt::format("reset it: 'nvidia-smi --gpu-reset -i {}', or reboot",
                    device.pci_bus_id.empty() ? std::to_string(device.index) : device.pci_bus_id);
    if (!device.trouble.empty())
      add(Fitness::unfit, fmt::format("{} does not answer: {}", gpu, device.trouble), reset);
    else if (const int action = device.recovery_action.value_or(0); action > 0)
      add(Fitness::unfit,
          fmt::format("the driver wants {}", action == 2 ? "a reboot for " + gpu
                                             : action == 1
                                                 ? gpu + " to be reset"
                                                 : gpu + " to be drained, and reset when idle"),
          action == 2 ? "reboot the host" : reset);
    if (device.remapped && device.remapped->failed)
      add(Fitness::unfit, fmt::format("{} has a row of memory that cannot be replaced", gpu),
          "have the GPU exchanged");
    else if (device.remapped && device.remapped->pending)
      add(Fitness::fit, fmt::format("{} replaces a bad row of memory at its next reset", gpu),
          "reset it when it is idle: " + reset.substr(reset.find('\'')));
    if (device.ecc_uncorrected.value_or(0) > 0)
      add(Fitness::fit,
          fmt::format("{} has had {} memory errors that could not be corrected since its driver "
                      "was loaded",
                      gpu, *device.ecc_uncorrected),
          "more of them after a reset mean that it has to be exchanged");
    if (const std::string why = slowed_by(device.clock_reasons.value_or(0)); !why.empty())
      add(Fitness::fit, fmt::format("{} is slowed down by {}", gpu, why),
          "'nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER' there says more");
    look_at_links(gpu, device);
    look_at_xid(gpu, device);
    look_at_memory(gpu, device);
  }

  void look_at_links(const std::string& gpu, const DeviceFacts& device) {
    const auto usual = usual_.links.find(device.name);
    if (!device.nvlinks || usual == usual_.links.end() || device.nvlinks->up >= usual->second)
      return;
    add(Fitness::unfit,
        fmt::format("{} has {} NVLinks up, and most of its kind have {}", gpu, device.nvlinks->up,
                    usual->second),
        "'nvidia-smi nvlink -s' and 'nvidia-smi nvlink -e' there show which has failed");
  }

  // Fewer peers than most GPUs of the kind is a fault; if all have as few, that is how such hosts
  // are built.
  void look_at_peers(const std::vector<DeviceFacts>& devices) {
    std::size_t without = 0;
    int why = 0;
    for (const DeviceFacts& device : devices) {
      if (!device.peers || device.peers->not_reached == 0) continue;
      ++without;
      if (why == 0) why = device.peers->why;
      const auto usual = usual_.peers.find(device.name);
      if (usual == usual_.peers.end() || device.peers->reached >= usual->second) continue;
      return add(Fitness::unfit,
                 fmt::format("GPU {} reads the memory of {} others by itself, and most of its kind "
                             "of {}: {}",
                             device.index, device.peers->reached, usual->second,
                             why_no_peer(device.peers->why)),
                 peer_hint(device.peers->why));
    }
    if (without > 0)
      add(Fitness::fit,
          fmt::format("peer access is off between {}its GPUs, so that NCCL copies through the "
                      "host's memory: {}",
                      is_off_between_all(devices) ? "" : "some of ", why_no_peer(why)),
          peer_hint(why));
  }

  static bool is_off_between_all(const std::vector<DeviceFacts>& devices) {
    return std::all_of(devices.begin(), devices.end(), [](const DeviceFacts& device) {
      return !device.peers || device.peers->reached == 0;
    });
  }

  static std::string peer_hint(int why) {
    if (why == 4) return "look for NVreg_RegistryDwords in /etc/modprobe.d there";
    return "'nvidia-smi topo -p2p r' there shows the pairs";
  }

  void look_at_xid(const std::string& gpu, const DeviceFacts& device) {
    if (!device.xid || is_of_program(device.xid->code) || device.xid->seconds_ago > day) return;
    add(Fitness::fit,
        fmt::format("the kernel's log has Xid {} of {}, {} ago", device.xid->code, gpu,
                    short_duration_text(std::chrono::seconds(device.xid->seconds_ago))),
        "'dmesg' there has the line, and NVIDIA's \"XID Errors\" what it means");
  }

  void look_at_memory(const std::string& gpu, const DeviceFacts& device) {
    if (!device.memory_total || !device.memory_used || !device.processes) return;
    if (!device.processes->empty()) return;
    const std::uint64_t used = *device.memory_used;
    if (used < noteworthy_memory || used < *device.memory_total / 20) return;
    add(Fitness::fit,
        fmt::format("{} GiB of {}'s {} GiB are taken, and no process is seen to use them",
                    used / gibibyte, gpu, *device.memory_total / gibibyte),
        "a process of another container may, or one that is still ending");
  }

  const std::size_t host_;
  const Usual& usual_;
  std::vector<HostFinding> found_;
};

}  // namespace

std::vector<HostFinding> judge_devices(const std::vector<CheckedHost>& hosts) {
  const Usual usual = {usual_of(hosts,
                                [](const DeviceFacts& device) {
                                  return device.nvlinks ? std::optional(device.nvlinks->up)
                                                        : std::nullopt;
                                }),
                       usual_of(hosts, [](const DeviceFacts& device) {
                         return device.peers ? std::optional(device.peers->reached) : std::nullopt;
                       })};
  std::vector<HostFinding> all;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!hosts[i].fitness) continue;
    DeviceJudge judge(i, usual);
    judge.look_at(*hosts[i].fitness);
    for (HostFinding& finding : judge.take()) all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace train
