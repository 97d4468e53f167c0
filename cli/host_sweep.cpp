// SPDX-License-Identifier: Apache-2.0
#include "cli/host_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {

namespace {

// Lines that are alike but for the host: the first few, and the number of the rest.
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

}  // namespace train
