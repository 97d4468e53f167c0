// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/host_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "cli/record/task_hosts.hpp"
#include "cli/request/transports.hpp"
#include "cli/show/task_table.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

// How many lines are shown; the others differ only in the host and are counted.
constexpr std::size_t most_lines = 8;

TerminalText processes(int count) {
  if (count == 1) return "1 process that it had left was ended";
  return terminal_text("{} processes that it had left were ended", count);
}

TerminalText describe(const SweepReport& report) {
  if (report.is_running && report.was_dismissed)
    return "its agent was told to stop its ranks and leave, and is still there";
  if (report.was_dismissed)
    return "its agent was still there; its ranks have ended, and it has left";
  if (report.is_running) return "its agent is still there, and ends its ranks by itself";
  if (report.ended > 0) return "its agent was killed; " + processes(report.ended);
  if (report.found_state && report.survivors.empty())
    return "its agent was killed; it had left no processes";
  return {};
}

}  // namespace

std::vector<Result<SweepReport>> sweep_hosts(Loop& loop, Transport& transport, StopSignals& signals,
                                             const std::vector<AbandonedHost>& hosts,
                                             nanoseconds limit, std::optional<Goodbye> goodbye) {
  SweepDriver sweep(
      {loop, transport}, hosts, limit, [&] { loop.stop(); }, goodbye);
  signals.hold_back();
  if (!hosts.empty()) {
    signals.deliver(loop, [&sweep](int) { sweep.cut_short(); });
    sweep.start();
    loop.run();
  }
  signals.end();
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

Goodbye last_goodbye() { return {last_epoch, static_cast<std::uint64_t>(now_on_the_wall())}; }

bool is_clean(const Result<SweepReport>& answer) {
  return answer && !answer->is_running && answer->survivors.empty();
}

namespace {

// In addition to the ranks' notice and grace. Longer than at the end of a launch, because nothing
// else is pending and hosts may be slow to log in to.
constexpr std::chrono::seconds lone_sweep_limit{30};

}  // namespace

Result<SweepVerdict> settle_hosts(const SqliteTaskStore& store, const TaskRecord& task) {
  const auto all = read_task_hosts(store, task.id);
  if (!all) return tl::make_unexpected(all.error());
  std::set<int> unsettled = read_unsettled_hosts(store, task, all->size());
  std::vector<Host> reached;
  std::vector<AbandonedHost> hosts;
  for (const int host : unsettled) {
    reached.push_back((*all)[static_cast<std::size_t>(host)]);
    hosts.push_back({reached.back(), agent_key(task.id, host)});
  }
  StopSignals signals;
  HostConnections connections(reached);
  const milliseconds stop(task.stop_notice_ms + task.stop_grace_ms);
  const auto answers = sweep_hosts(connections.loop, connections.transports, signals, hosts,
                                   lone_sweep_limit + stop, last_goodbye());
  if (const TerminalText found = describe_sweep(hosts, answers); !found.empty()) talk(found);
  auto answer = answers.begin();
  for (auto host = unsettled.begin(); host != unsettled.end(); ++answer)
    host = is_clean(*answer) ? unsettled.erase(host) : std::next(host);
  if (auto kept = keep_unsettled_hosts(store, task.id, unsettled); !kept)
    return tl::make_unexpected(kept.error());
  return verdict_of(answers);
}

ExitCode settle_ended_task(const SqliteTaskStore& store, const TaskRecord& task) {
  const auto verdict = settle_hosts(store, task);
  if (!verdict) return report(verdict.error());
  const std::string name =
      fmt::format("task {} has ended already: {}", task.id, to_string(task.state));
  const std::string again = fmt::format("train task kill {} asks them once more", task.id);
  switch (*verdict) {
    case SweepVerdict::unclear:
      return report(make_error(ErrorClass::host, name + "; its hosts are not all clean", again));
    case SweepVerdict::busy:
      return report(
          make_error(ErrorClass::busy, name + "; its hosts are not all clean yet", again));
    case SweepVerdict::clean:
      break;
  }
  talk(terminal_text("{}; nothing of it is left on its hosts", name));
  return ExitCode();
}

}  // namespace train
