// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/gpu_users.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/accelerator/gpu_files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

constexpr std::string_view mps_server = "[nvidia-cuda-mps";  // the kernel truncates the name

std::string task_of(int pid) {
  constexpr std::string_view variable = "TRAIN_TASK_ID=";
  const std::string environment = environment_of(pid);
  for (const std::string_view entry : environment_entries(environment))
    if (entry.starts_with(variable)) return std::string(entry.substr(variable.size()));
  return {};
}

// The user without its leases.
LeaseHolder user_of(int pid) {
  LeaseHolder user{.task = {}, .name = task_of(pid)};
  user.pid = pid;
  user.uid = owner_of(pid).value_or(-1);
  user.command = command_of(pid);
  user.held_ms = age_of(pid).count();
  return user;
}

void put_longest_first(std::vector<LeaseHolder>& users) {
  std::stable_sort(users.begin(), users.end(), [](const LeaseHolder& a, const LeaseHolder& b) {
    return a.held_ms > b.held_ms;
  });
}

bool has_gpu(const LeaseHolder& user, const LeaseKey& gpu) {
  return std::any_of(user.leases.begin(), user.leases.end(),
                     [&](const LeaseHolder::Held& held) { return held.key == gpu; });
}

}  // namespace

std::vector<LeaseHolder> gpu_users(const GpuFiles& files) {
  const GpuIdentities identities = gpu_identities(files);
  std::map<std::string, LeaseKey, std::less<>> gpus;  // by file
  for (std::size_t i = 0; i < identities.cuda_files.size(); ++i)
    gpus[identities.cuda_files[i]] = {LeaseKey::Kind::cuda, static_cast<int>(i),
                                      identities.cuda[i]};
  const std::string computing = files.dev + "/nvidia-uvm";
  std::vector<LeaseHolder> users;
  if (gpus.empty()) return users;
  for (const int pid : all_processes()) {
    bool computes = false;
    std::map<int, LeaseKey> open;
    (void)has_open(pid, [&](std::string_view target) {
      computes = computes || target == computing;
      if (const auto found = gpus.find(target); found != gpus.end())
        open[found->second.index] = found->second;
      return false;
    });
    if (!computes || open.empty() || name_of(pid).starts_with(mps_server)) continue;
    LeaseHolder user = user_of(pid);
    for (const auto& [index, key] : open) user.leases.push_back({key, lease_units});
    users.push_back(std::move(user));
  }
  put_longest_first(users);
  return users;
}

bool may_miss_gpu_users(const GpuFiles& files) {
  if (::geteuid() == 0 || !is_there(files.proc + "/driver/nvidia")) return false;
  const std::string count = small_text(files.sys + "/module/nvidia_uvm/refcnt");
  return !count.starts_with('0');
}

void add_gpu_users(const DeviceReport& devices, std::vector<LeaseHolder>& users,
                   const GpuFiles& files) {
  const GpuIdentities identities = gpu_identities(files);
  for (const DeviceFacts& device : devices.devices) {
    const auto identity = std::find(identities.cuda.begin(), identities.cuda.end(), device.uuid);
    if (!device.processes || device.uuid.empty() || identity == identities.cuda.end()) continue;
    const LeaseKey gpu{LeaseKey::Kind::cuda, static_cast<int>(identity - identities.cuda.begin()),
                       device.uuid};
    bool is_used = std::any_of(users.begin(), users.end(),
                               [&](const LeaseHolder& user) { return has_gpu(user, gpu); });
    for (const DeviceProcess& process : *device.processes) {
      if (process.pid <= 0 || process.pid > std::numeric_limits<int>::max()) continue;
      const int pid = static_cast<int>(process.pid);
      auto user = std::find_if(users.begin(), users.end(),
                               [&](const LeaseHolder& each) { return each.pid == pid; });
      if (user == users.end()) {
        if (!owner_of(pid) && is_used) continue;
        if (name_of(pid).starts_with(mps_server)) continue;
        user = users.insert(users.end(), user_of(pid));
      }
      if (!has_gpu(*user, gpu)) user->leases.push_back({gpu, lease_units});
      is_used = true;
    }
  }
  put_longest_first(users);
}

}  // namespace train
