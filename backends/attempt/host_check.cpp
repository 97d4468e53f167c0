// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/host_check.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "backends/attempt/rank_process.hpp"
#include "backends/network/interfaces.hpp"
#include "backends/observe/host_room.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/login_session.hpp"
#include "backends/process/checkpoint_folder.hpp"
#include "launcher/agent/launch_values.hpp"

namespace train {

namespace {

// The problems that one check has found. The class of a problem that users can fix themselves
// (`missing`) wins over class `host`.
class Problems {
 public:
  explicit Problems(agent_event::HostChecked& told) : told_(told) {}

  // The same problem of many ranks is reported once.
  void add(const Error& error) {
    auto& all = told_.problems;
    if (all.empty() || error.error_class == ErrorClass::missing)
      told_.error_class = error.error_class;
    for (const Diagnostic& problem : error.diagnostics)
      if (std::find(all.begin(), all.end(), problem) == all.end()) all.push_back(problem);
  }

 private:
  agent_event::HostChecked& told_;
};

void check_ranks(const message::Prepare& prepare, FileCalls& calls, Problems& problems) {
  const std::string hint =
      prepare.context
          ? "a context brings what is in its directory, without what .gitignore or .trainignore "
            "names there"
          : "every host of the task needs it there; --context sends a directory of code to them";
  RankProcesses processes;
  for (const RankCommand& command : prepare.ranks) {
    if (const auto found = processes.program_of(command, &calls); !found)
      problems.add(found.error());
    else if (const auto there = processes.check_script_of(command, hint, &calls); !there)
      problems.add(there.error());
  }
}

bool wants_hang_stacks(const message::Prepare& prepare) {
  return std::any_of(prepare.ranks.begin(), prepare.ranks.end(), [](const RankCommand& rank) {
    return std::any_of(
        rank.environment.begin(), rank.environment.end(),
        [](const EnvironmentEntry& each) { return each.name == hang_stacks_variable; });
  });
}

void make_files(const message::Prepare& prepare, const HostDirectory& directory,
                const std::string& key, ReportTools& tools, FileCalls& calls, CheckedHost& checked,
                Problems& problems) {
  const int trial = prepare.of.trial;
  const std::string path = directory.run_directory(key, trial);
  auto made = calls("mkdir", path, [&] { return directory.make_run_directory(key, trial); });
  if (!made) return problems.add(made.error());
  checked.told.run_directory = *made;
  // Removes the files of an earlier attempt. Where that fails, writing them anew fails.
  std::vector<RunFile> files = prepare.files;
  for (const RankCommand& rank : prepare.ranks) {
    directory.remove_file(key, error_file_name(rank.rank), trial);
    directory.remove_file(key, heartbeat_file_name(rank.rank), trial);
    files.push_back({metrics_file_name(rank.rank), {}});
  }
  for (const RunFile& file : files) directory.remove_file(key, file.name, trial);
  directory.remove_file(key, stop_file_name(prepare.of.attempt), trial);
  for (const RunFile& file : files) {
    const auto write = [&] { return directory.write_file(key, file.name, file.text, trial); };
    if (auto written = calls("write", path + "/" + file.name, write); !written)
      problems.add(written.error());
  }
  const auto make_tools = [&] { return tools.make(wants_hang_stacks(prepare)); };
  if (auto there = calls("write", tools.path(), make_tools); !there) problems.add(there.error());
}

struct Interface {
  bool is_up = false;
  bool has_address = false;
};

// Lists 8 at most: containers may give a host hundreds of interfaces.
std::string list_of(const std::map<std::string, Interface>& interfaces) {
  constexpr std::size_t most = 8;
  std::vector<std::string> names;
  for (const auto& [name, each] : interfaces)
    if (each.is_up && each.has_address && names.size() < most) names.push_back(name);
  const std::size_t more = interfaces.size() - names.size();
  if (names.empty()) return "there is none that is up and has an address";
  return fmt::format("there {} {}{}", names.size() == 1 ? "is" : "are", fmt::join(names, ", "),
                     more == 0 ? "" : fmt::format(", and {} more or without an address", more));
}

}  // namespace

Result<void> check_interface(const std::string& name) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    return fail(ErrorClass::host,
                fmt::format("cannot list its network interfaces: {}", system_reason(errno)));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::map<std::string, Interface> interfaces;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    Interface& each = interfaces[entry->ifa_name];
    each.is_up = each.is_up || (entry->ifa_flags & IFF_UP) != 0;
    const int family = entry->ifa_addr == nullptr ? AF_UNSPEC : entry->ifa_addr->sa_family;
    each.has_address = each.has_address || family == AF_INET || family == AF_INET6;
  }
  const auto found = interfaces.find(name);
  const char* hint = "correct 'interface' in the hosts file; 'ip address' there shows them";
  if (found == interfaces.end())
    return fail(ErrorClass::host,
                fmt::format("it has no network interface '{}': {}", name, list_of(interfaces)),
                hint);
  if (!found->second.is_up)
    return fail(ErrorClass::host,
                fmt::format("its network interface '{}' is down: {}", name, list_of(interfaces)),
                hint);
  if (!found->second.has_address)
    return fail(
        ErrorClass::host,
        fmt::format("its network interface '{}' has no address: {}", name, list_of(interfaces)),
        hint);
  return {};
}

namespace {

// Only the addresses of the interface that the ranks will use, if it is known already.
std::vector<NetworkAddress> networks_of(const std::string& interface) {
  std::vector<InterfaceEntry> entries = interface_entries();
  if (!interface.empty())
    std::erase_if(entries, [&](const auto& each) { return each.interface != interface; });
  return network_addresses(entries, {});
}

}  // namespace

CheckedHost check_host(const message::Prepare& prepare, const HostDirectory& directory,
                       const std::string& key, const AgentMeans& means, AgentRecorder& recorder,
                       ReportTools& tools, FileCalls& calls) {
  CheckedHost checked;
  Problems problems(checked.told);
  check_ranks(prepare, calls, problems);
  if (means.count_gpus) checked.told.gpus = means.count_gpus();
  if (prepare.cpu_binding.mode != CpuBinding::none && means.look_at_cpus)
    checked.told.cpus = means.look_at_cpus();
  checked.told.ends_with_login = at_own_logout() != AtLogout::nothing;
  if (!prepare.interface.empty())
    if (const auto there = check_interface(prepare.interface); !there) problems.add(there.error());
  if (prepare.wants_networks) checked.told.networks.addresses = networks_of(prepare.interface);
  make_files(prepare, directory, key, tools, calls, checked, problems);
  if (!prepare.checkpoint_directory.empty()) {
    auto mark = mark_checkpoint_folder(prepare.checkpoint_directory, calls);
    if (mark) checked.told.checkpoint_mark = std::move(*mark);
    if (!mark) problems.add(mark.error());
    if (prepare.looks_for_checkpoints)
      checked.newest_checkpoint = calls("readdir", prepare.checkpoint_directory, [&] {
        return newest_checkpoint(prepare.checkpoint_directory).at;
      });
  }
  const auto record = [&] { return recorder.begin(directory, key, means.cgroups); };
  if (auto begun = calls("write", directory.lock_path(key), record); !begun)
    problems.add(begun.error());
  checked.cgroup = recorder.make_cgroup_of(prepare.of);
  checked.memory_kills =
      std::make_shared<MemoryKills>(path_of_cgroup(checked.cgroup), memory_kill_places());
  // Checked before the ports are taken, whose descriptors count as well.
  const int ranks = static_cast<int>(prepare.ranks.size());
  if (auto lacks = shortages(room_limits(ranks, prepare.hold_ports)); !lacks.empty()) {
    problems.add({ErrorClass::host, std::move(lacks)});
    return checked;
  }
  auto ports = PortHold::take(prepare.hold_ports);
  if (!ports) problems.add(ports.error());
  if (ports) checked.ports = std::move(*ports);
  for (const PortHold& port : checked.ports) checked.told.held_ports.push_back(port.port());
  return checked;
}

}  // namespace train
