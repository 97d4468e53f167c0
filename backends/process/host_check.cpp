// SPDX-License-Identifier: Apache-2.0
#include "backends/process/host_check.hpp"

#include <algorithm>

#include "backends/process/host_room.hpp"
#include "backends/process/network_interface.hpp"
#include "backends/process/rank_process.hpp"

namespace train {

namespace {

// Problems of one check. What users can mend themselves counts for more than the host's trouble.
class Problems {
 public:
  explicit Problems(agent_event::HostChecked& told) : told_(told) {}

  // The same trouble of many ranks is said once.
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
  RankProcesses processes;
  for (const RankCommand& command : prepare.ranks)
    if (const auto found = processes.program_of(command, &calls); !found)
      problems.add(found.error());
}

void make_files(const message::Prepare& prepare, const HostDirectory& directory,
                const std::string& key, FileCalls& calls, CheckedHost& checked,
                Problems& problems) {
  const std::string path = directory.run_directory(key);
  auto made = calls("mkdir", path, [&] { return directory.make_run_directory(key); });
  if (!made) return problems.add(made.error());
  checked.told.run_directory = *made;
  for (const RunFile& file : prepare.files) {
    const auto write = [&] { return directory.write_file(key, file.name, file.text); };
    if (auto written = calls("write", path + "/" + file.name, write); !written)
      problems.add(written.error());
  }
}

}  // namespace

CheckedHost check_host(const message::Prepare& prepare, const HostDirectory& directory,
                       const std::string& key, const AgentMeans& means, FileCalls& calls) {
  CheckedHost checked;
  Problems problems(checked.told);
  check_ranks(prepare, calls, problems);
  if (means.count_gpus) checked.told.gpus = means.count_gpus();
  if (!prepare.interface.empty())
    if (const auto there = check_interface(prepare.interface); !there) problems.add(there.error());
  make_files(prepare, directory, key, calls, checked, problems);
  const auto record = [&] { return checked.recorder->begin(directory, key, means.cgroups); };
  if (auto begun = calls("write", directory.lock_path(key), record); !begun)
    problems.add(begun.error());
  // Before the ports, whose descriptors count as well.
  const int ranks = static_cast<int>(prepare.ranks.size());
  if (auto lacks = lacking(room_limits(ranks, prepare.hold_ports)); !lacks.empty()) {
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
