// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/gpu_users.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/posix/proc.hpp"

namespace train {

namespace {

constexpr std::string_view mps_server = "[nvidia-cuda-mps";  // the kernel cuts its name

std::string task_of(int pid) {
  constexpr std::string_view variable = "TRAIN_TASK_ID=";
  const std::string environment = environment_of(pid);
  for (const std::string_view entry : environment_entries(environment))
    if (entry.starts_with(variable)) return std::string(entry.substr(variable.size()));
  return {};
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
    LeaseHolder user{.task = {}, .name = task_of(pid)};
    user.pid = pid;
    user.uid = owner_of(pid).value_or(0);
    user.command = command_of(pid);
    user.held_ms = age_of(pid).count();
    for (const auto& [index, key] : open) user.leases.push_back({key, lease_units});
    users.push_back(std::move(user));
  }
  std::stable_sort(users.begin(), users.end(), [](const LeaseHolder& a, const LeaseHolder& b) {
    return a.held_ms > b.held_ms;
  });
  return users;
}

}  // namespace train
