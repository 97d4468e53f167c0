// SPDX-License-Identifier: Apache-2.0
#include "backends/visits/host_inspection.hpp"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "backends/lease/lease_holders.hpp"
#include "backends/lease/task_ticket.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

// Parses "MemAvailable:   12345 kB"; 0 if an old kernel does not report it.
std::uint64_t available_memory() {
  const std::string text = read_small_file("/proc/meminfo");
  constexpr std::string_view name = "MemAvailable:";
  const std::size_t place = text.find(name);
  unsigned long long kib = 0;
  const bool is_there =
      place != text.npos && ::sscanf(text.c_str() + place + name.size(), "%llu", &kib) == 1;
  return is_there ? std::uint64_t{kib} << 10 : 0;
}

// "0.52 0.58 0.59 3/389 12345"
std::int64_t load_permil() {
  double load = 0;
  const std::string text = read_small_file("/proc/loadavg");
  return ::sscanf(text.c_str(), "%lf", &load) == 1 ? static_cast<std::int64_t>(load * 1'000) : 0;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 ..."; for the open kernel
// modules the words before the version differ.
std::string driver_version() {
  const std::string line = first_line_of("/proc/driver/nvidia/version");
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    const std::string_view word = std::string_view(line).substr(begin, end - begin);
    const bool is_version = word.find_first_not_of("0123456789.") == word.npos &&
                            std::count(word.begin(), word.end(), '.') > 0;
    if (is_version) return std::string(word);
    begin = end + 1;
  }
  return {};
}

// Sets the index of a GPU that is known only by name, because it has a lock but no holder file.
void number_device(LeaseKey& key, const HostReport& report) {
  if (!is_gpu(key) || key.name.empty()) return;
  const auto& names = key.kind == LeaseKey::Kind::cuda ? report.cuda_names : report.rocm_names;
  const auto found = std::find(names.begin(), names.end(), key.name);
  if (found != names.end()) key.index = static_cast<int>(found - names.begin());
}

}  // namespace

Result<LeaseFolder> lease_folder_of(const AgentMeans& means, const std::string& directory) {
  const std::string& named = directory.empty() ? means.lease_folder : directory;
  return named.empty() ? open_lease_folder() : open_lease_folder({named_place(named)});
}

std::vector<LeaseHolder> foreign_users(
    const AgentMeans& means, const std::vector<LeaseHolder>& holders,
    const std::function<std::string(std::int64_t uid)>& user_name_of) {
  if (!means.gpu_users) return {};
  std::vector<LeaseHolder> users = means.gpu_users();
  // Only root can see to which task a process of another user belongs: a process that computes on a
  // GPU held by a task of the same user is taken for a part of that task.
  const std::int64_t own = ::geteuid();
  const auto is_of = [own](const LeaseHolder& user, const LeaseHolder& holder) {
    if (!user.name.empty()) return user.name == holder.task;
    return own != 0 && user.uid != own && user.uid == holder.uid && user.uid >= 0 &&
           std::any_of(user.leases.begin(), user.leases.end(), [&](const auto& used) {
             return std::any_of(holder.leases.begin(), holder.leases.end(),
                                [&](const auto& held) { return is_same_slot(held.key, used.key); });
           });
  };
  std::erase_if(users, [&](const LeaseHolder& user) {
    return std::any_of(holders.begin(), holders.end(),
                       [&](const LeaseHolder& holder) { return is_of(user, holder); });
  });
  for (LeaseHolder& user : users) user.user = user_name_of(user.uid);
  return users;
}

void inspect_leases(const LeaseFolder& folder,
                    const std::function<std::string(std::int64_t uid)>& user_name_of,
                    HostReport& report) {
  report.lease_folder = folder.path;
  report.lease_identity = folder.identity;
  report.holders = holders_on(folder, user_name_of);
  report.without_locks = tasks_without_locks(folder);
  report.tickets = tickets_on(folder, user_name_of);
  for (LeaseHolder& holder : report.holders)
    for (LeaseHolder::Held& held : holder.leases) number_device(held.key, report);
}

HostReport inspect_resources(const AgentMeans& means) {
  HostReport report;
  if (means.count_gpus) report.gpus = means.count_gpus();
  const bool has_gpus = !report.gpus.cuda.empty() || !report.gpus.rocm.empty();
  if (has_gpus && means.name_gpus) {
    GpuNames names = means.name_gpus();
    report.cuda_names = std::move(names.cuda);
    report.rocm_names = std::move(names.rocm);
    report.gpu_type = std::move(names.type);
  }
  report.uid = ::geteuid();
  report.cpus = usable_cpus();
  report.memory = total_memory();
  report.available = available_memory();
  report.load_permil = load_permil();
  report.driver = driver_version();
  return report;
}

HostReport inspect_host(const AgentMeans& means, const std::string& directory) {
  HostReport report = inspect_resources(means);
  const auto folder = lease_folder_of(means, directory);
  if (!folder) {
    report.lease_trouble = folder.error().diagnostics.front().message;
    return report;
  }
  inspect_leases(*folder, user_name_in_passwd, report);
  report.squats = squats_on(*folder);
  for (LeaseHolder& user : foreign_users(means, report.holders, user_name_in_passwd))
    report.holders.push_back(std::move(user));
  return report;
}

}  // namespace train
