// SPDX-License-Identifier: Apache-2.0
#include "cli/task_sweep.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/event_loop/loop.hpp"
#include "cli/host_sweep.hpp"
#include "cli/talk.hpp"
#include "cli/transports.hpp"
#include "launcher/task/task_hosts.hpp"

namespace train {

namespace {

// Somebody waits for this command alone, and the hosts may be slow to log in to.
constexpr std::chrono::seconds sweep_limit{30};
constexpr std::size_t largest_hosts_file = 64u << 20;

// In the task's own folder, which is open to nobody else.
std::string hosts_file_of(const SqliteTaskStore& store, const std::string& id) {
  return std::filesystem::path(store.lock_file(id)).replace_filename("hosts.yaml").string();
}

Result<HostInventory> read_task_hosts(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file || size > largest_hosts_file)
    return fail(
        ErrorClass::no_input,
        fmt::format("'{}' cannot be read, so that nobody knows how its hosts are reached", path),
        "look there for what its ranks may have left");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_hosts({path, text.str()});
}

}  // namespace

Result<void> keep_task_hosts(const SqliteTaskStore& store, const TaskRecord& task,
                             const std::vector<Host>& hosts) {
  const std::string path = hosts_file_of(store, task.id);
  // Nobody reads it unless this process dies, and then the system still writes it: no launch waits
  // for a disk here.
  std::ofstream file(path, std::ios::binary);
  file << task_hosts_file(hosts, task.working_directory) << std::flush;
  if (file) return {};
  return fail(ErrorClass::no_input, fmt::format("cannot write '{}'", path),
              "make room on this file system");
}

ExitCode sweep_lost_task(const SqliteTaskStore& store, const TaskRecord& task) {
  const auto inventory = read_task_hosts(hosts_file_of(store, task.id));
  if (!inventory) return report(inventory.error());
  Trial trial;
  std::vector<AbandonedHost> hosts;
  for (const Host& host : inventory->hosts) {
    PlannedHost& planned = trial.hosts.emplace_back();
    planned.host = host;
    hosts.push_back({host, agent_key(task.id, static_cast<int>(hosts.size()))});
  }
  Loop loop;
  HostTransports transports(loop, trial, std::nullopt,
                            [](const std::string& said) { talk(TerminalText(said)); });
  const auto answers = sweep_hosts(loop, transports, hosts, sweep_limit);
  if (const TerminalText found = describe_sweep(hosts, answers); !found.empty()) talk(found);
  const std::string name =
      fmt::format("task {} has ended already: {}", task.id, to_string(task.state));
  switch (verdict_of(answers)) {
    case SweepVerdict::unclear:
      return report(make_error(ErrorClass::host, name + "; its hosts are not all clean"));
    case SweepVerdict::busy:
      return report(make_error(ErrorClass::busy, name + "; its hosts are not all clean yet",
                               fmt::format("train task kill {} in a minute looks again", task.id)));
    case SweepVerdict::clean:
      break;
  }
  talk(terminal_text("{}; nothing of it is left on its hosts", name));
  return ExitCode();
}

}  // namespace train
