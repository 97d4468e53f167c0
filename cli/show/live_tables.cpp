// SPDX-License-Identifier: Apache-2.0
#include "cli/show/live_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/terminal/table.hpp"
#include "cli/terminal/talk.hpp"
#include "launcher/live/held_tasks.hpp"

namespace train {

namespace {

std::string gib(std::uint64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(1u << 30));
}

std::string load_of(const HostReport& report) {
  return fmt::format("{:.2f}", static_cast<double>(report.load_permil) / 1'000);
}

const char* state_of(const LiveHost& host) { return host.is_reachable() ? "up" : "unreachable"; }

// The kind of the slots: "H200", "GPUs", "CPUs".
std::string kind_of(const LiveHost& host) {
  if (!host.is_known()) return "-";
  switch (host.slots.kind) {
    case LiveSlotKind::gpus: {
      const std::string type = gpu_type_of(host);
      return type.empty() ? "GPUs" : type;
    }
    case LiveSlotKind::devices:
      return host.host.accelerator_type.empty() ? "devices" : host.host.accelerator_type;
    case LiveSlotKind::places:
      return "places";
    case LiveSlotKind::cpus:
      return "CPUs";
  }
  return "-";
}

std::string notes_of(const LiveHost& host) {
  if (!host.report) return in_one_line(host.report.error());
  std::vector<std::string> notes = live_notes(host);
  for (std::string& holding : foreign_holdings(host)) notes.push_back(std::move(holding));
  return fmt::format("{}", fmt::join(notes, "; "));
}

// The slot counts of a row: all, free, held, foreign; `unknown` in each column if they are not
// known.
std::vector<std::string> counts_of(const LiveHost& host, const char* unknown) {
  if (!host.is_known()) return {unknown, unknown, unknown, unknown};
  const std::size_t all = host.slots.slots.size();
  const std::size_t free = free_slots(host);
  const std::size_t foreign = foreign_slots(host);
  return {std::to_string(all), std::to_string(free), std::to_string(all - free - foreign),
          std::to_string(foreign)};
}

}  // namespace

std::string hosts_to_table(const std::vector<LiveHost>& hosts) {
  TableRows rows = {{"HOST", "STATE", "SLOTS", "FREE", "HELD", "FOREIGN", "OF", "GPUS", "CPUS",
                     "LOAD", "MEMORY", "AVAILABLE", "DRIVER", "NOTE"}};
  for (const LiveHost& host : hosts) {
    const auto counts = counts_of(host, "-");
    std::vector<std::string> row = {host.host.name, state_of(host)};
    row.insert(row.end(), counts.begin(), counts.end());
    row.push_back(kind_of(host));
    if (host.report)
      row.insert(row.end(),
                 {std::to_string(host.report->gpus.count()), std::to_string(host.report->cpus),
                  load_of(*host.report), gib(host.report->memory) + " GiB",
                  gib(host.report->available) + " GiB",
                  host.report->driver.empty() ? "-" : host.report->driver});
    else
      row.insert(row.end(), 6, "-");
    row.push_back(notes_of(host));
    rows.push_back(std::move(row));
  }
  return table_text(std::move(rows));
}

std::string hosts_to_csv(const std::vector<LiveHost>& hosts) {
  TableRows rows = {{"HOST", "STATE", "SLOTS", "FREE", "HELD", "FOREIGN", "SLOTS_ARE", "GPUS",
                     "GPU_TYPE", "CPUS", "LOAD", "MEMORY", "AVAILABLE", "DRIVER", "NOTE"}};
  for (const LiveHost& host : hosts) {
    const auto counts = counts_of(host, "");
    const std::string kind = host.is_known() ? std::string(to_string(host.slots.kind)) : "";
    std::vector<std::string> row = {host.host.name, state_of(host)};
    row.insert(row.end(), counts.begin(), counts.end());
    row.push_back(kind);
    if (host.report)
      row.insert(row.end(), {std::to_string(host.report->gpus.count()), gpu_type_of(host),
                             std::to_string(host.report->cpus), load_of(*host.report),
                             std::to_string(host.report->memory),
                             std::to_string(host.report->available), host.report->driver});
    else
      row.insert(row.end(), {"", gpu_type_of(host), "", "", "", "", ""});
    row.push_back(notes_of(host));
    rows.push_back(std::move(row));
  }
  return table_csv(rows);
}

namespace {

// A row for one holder of a slot, or of a share of it.
std::vector<std::string> share_row(const LiveHost& host, std::size_t slot, const SlotShare& share,
                                   UnixMillis now) {
  const LeaseHolder& holder = host.report->holders[share.holder];
  const bool is_foreign = holder.pid > 0;
  return {host.host.name,
          std::to_string(slot),
          is_foreign ? "foreign" : "held",
          to_string(share.amount),
          holder.task,
          holder.name,
          holder.user,
          holder.launcher,
          holder.held_ms > 0 ? std::to_string(now - holder.held_ms) : "",
          is_foreign ? std::to_string(holder.pid) : "",
          holder.command};
}

}  // namespace

std::string slots_to_csv(const std::vector<LiveHost>& hosts, UnixMillis now) {
  TableRows rows = {{"HOST", "SLOT", "STATE", "SHARE", "TASK", "NAME", "USER", "LAUNCHER", "SINCE",
                     "PID", "COMMAND"}};
  const std::size_t columns = rows.front().size();
  const auto add = [&](std::vector<std::string> row) {
    row.resize(columns);
    rows.push_back(std::move(row));
  };
  for (const LiveHost& host : hosts) {
    if (!host.is_known())
      add({host.host.name, "", host.is_reachable() ? "unknown" : "unreachable"});
    for (std::size_t slot = 0; slot < host.slots.slots.size(); ++slot) {
      const auto& shares = host.slots.slots[slot];
      if (shares.empty()) add({host.host.name, std::to_string(slot), "free", "0"});
      for (const SlotShare& share : shares) add(share_row(host, slot, share, now));
    }
  }
  return table_csv(rows);
}

namespace {

// The lease folder and identity; hosts that differ in the identity share no slots.
TerminalText leases_of(const LiveHost& host) {
  return terminal_text("its leases are in {}, with the identity {}", host.report->lease_folder,
                       host.report->lease_identity);
}

}  // namespace

std::string lease_lines(const std::vector<LiveHost>& hosts) {
  constexpr std::size_t most = 8;
  std::string text;
  std::size_t said = 0;
  std::size_t left_out = 0;
  for (const LiveHost& host : hosts) {
    if (!host.is_known() || !host.same_as.empty()) continue;
    if (said == most) {
      ++left_out;
      continue;
    }
    ++said;
    text += terminal_text("{}: {}\n", host.host.name, leases_of(host)).text();
  }
  if (left_out > 0) text += fmt::format("and those of {} more hosts: --json has all\n", left_out);
  return text;
}

std::vector<TerminalText> troubles_of(const std::vector<LiveHost>& hosts) {
  std::vector<TerminalText> troubles;
  for (const LiveHost& host : hosts)
    if (!host.is_known())
      troubles.push_back(terminal_text("host '{}': {}", host.host.name, live_notes(host).front()));
  return troubles;
}

std::vector<TerminalText> strangers_of(const std::vector<LiveHost>& hosts) {
  std::vector<TerminalText> said;
  for (const LiveHost& host : hosts) {
    if (!host.same_as.empty())
      said.push_back(terminal_text("host '{}' is the same machine as '{}': {}", host.host.name,
                                   host.same_as, leases_of(host)));
    for (const std::string& holding : unknown_holdings(host))
      said.push_back(terminal_text("host '{}': {}", host.host.name, holding));
    for (const std::string& lost : lost_locks(host))
      said.push_back(terminal_text("host '{}': {}", host.host.name, lost));
  }
  return said;
}

ExitCode judged(ExitCode answered, const std::vector<LiveHost>& hosts) {
  const bool are_there = std::all_of(hosts.begin(), hosts.end(),
                                     [](const LiveHost& host) { return host.is_reachable(); });
  if (are_there || answered.value() != 0) return answered;
  const ExitCode code = exit_code_of(ErrorClass::host);
  talk(verdict(ErrorClass::host, code));
  return code;
}

}  // namespace train
