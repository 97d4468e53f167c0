// SPDX-License-Identifier: Apache-2.0
#include "cli/host_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/talk.hpp"
#include "cli/task_table.hpp"
#include "cli/transports.hpp"
#include "launcher/record/task_hosts.hpp"

namespace train {

namespace {

// How many lines are shown; the others differ in the host only and are counted.
constexpr std::size_t most_lines = 8;

TerminalText processes(int count) {
  if (count == 1) return "1 process that it had left was ended";
  return terminal_text("{} processes that it had left were ended", count);
}

TerminalText describe(const SweepReport& report) {
  if (report.is_running) return "its agent is still there, and ends its ranks by itself";
  if (report.ended > 0) return "its agent was killed; " + processes(report.ended);
  if (report.found_state && report.survivors.empty())
    return "its agent was killed; it had left no processes";
  return {};
}

}  // namespace

std::vector<Result<SweepReport>> sweep_hosts(Loop& loop, Transport& transport,
                                             const std::vector<AbandonedHost>& hosts,
                                             nanoseconds limit) {
  if (hosts.empty()) return {};
  SweepDriver sweep({loop, transport}, hosts, limit, [&] { loop.stop(); });
  sweep.start();
  loop.run();
  return sweep.answers();
}

TerminalText describe_sweep(const std::vector<AbandonedHost>& hosts,
                            const std::vector<Result<SweepReport>>& answers) {
  std::vector<TerminalText> lines;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string& name = hosts[i].host.name;
    const auto& report = answers[i];
    if (!report) {
      lines.push_back(terminal_text("host '{}': it is not known what its agent has left: {}", name,
                                    report.error().diagnostics.front().message));
      continue;
    }
    if (const TerminalText what = describe(*report); !what.empty())
      lines.push_back(terminal_text("host '{}': {}", name, what));
    for (const message::Survivor& survivor : report->survivors)
      lines.push_back(terminal_text("left on '{}': process {} of user {} could not be killed: {}",
                                    name, survivor.pid, survivor.uid, survivor.command));
  }
  TerminalText text;
  for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i)
    text += (i == 0 ? lines[i] : "\n" + lines[i]);
  if (lines.size() > most_lines)
    text += terminal_text("\n... and {} more", lines.size() - most_lines);
  return text;
}

namespace {

// Longer than at the end of a launch: nothing else is waited for, and hosts may be slow to log in
// to.
constexpr std::chrono::seconds sweep_limit{30};
constexpr std::size_t largest_hosts_file = 64u << 20;

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
  const std::string path = store.hosts_file(task.id);
  // Not synced to the disk, which a launch would have to wait for: the file is read only when this
  // process has died, and then the system still writes it.
  std::ofstream file(path, std::ios::binary);
  file << task_hosts_file(hosts, task.working_directory) << std::flush;
  if (file) return {};
  return fail(ErrorClass::no_input, fmt::format("cannot write '{}'", path),
              "make room on this file system");
}

namespace {

Result<void> record_lost(SqliteTaskStore& store, TaskRecord task) {
  if (auto adopted = store.adopt(task.id); !adopted) return adopted;
  lose(
      task, now_on_the_wall(),
      fmt::format("the launcher (process {}) ended without a word, and nothing of the task is left "
                  "on its hosts",
                  task.launcher_pid));
  return store.update(task);
}

}  // namespace

ExitCode sweep_lost_task(SqliteTaskStore& store, const TaskRecord& task) {
  const auto inventory = read_task_hosts(store.hosts_file(task.id));
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
      task.is_unattended
          ? fmt::format("task {} is unattended, and what another launcher needs is not there",
                        task.id)
          : fmt::format("task {} has ended already: {}", task.id, to_string(task.state));
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
  if (!task.is_unattended) return ExitCode();
  const auto recorded = record_lost(store, task);
  return recorded ? ExitCode() : report(recorded.error());
}

}  // namespace train
