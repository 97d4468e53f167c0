// SPDX-License-Identifier: Apache-2.0
#include "cli/story/launch_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/show/rank_results.hpp"
#include "cli/show/task_table.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

std::size_t count_hosts(const LaunchStatus& status) {
  std::size_t count = 0;
  for (const auto& [what, hosts] : status.hosts) count += hosts.size();
  return count;
}

const std::vector<std::string>* hosts_that(const LaunchStatus& status, std::string_view what) {
  for (const auto& each : status.hosts)
    if (each.first == what) return &each.second;
  return nullptr;
}

std::vector<std::string> host_rows(const LaunchStatus& status) {
  std::size_t width = 0;
  for (const auto& [what, hosts] : status.hosts) width = std::max(width, what.size());
  std::vector<std::string> rows;
  for (const auto& [what, hosts] : status.hosts)
    if (what != "ready")
      rows.push_back(fmt::format("{:<{}}  {}", what, width, escaped(summarize_hosts(hosts))));
  return rows;
}

// "step 100, loss 0.25": the first numbers of a report.
std::string numbers_of(const std::string& report) {
  constexpr std::size_t most = 4;
  const auto document = nlohmann::ordered_json::parse(report, nullptr, false);
  if (!document.is_object()) return {};
  std::vector<std::string> parts;
  for (const auto& [name, value] : document.items()) {
    if (!value.is_number() || parts.size() == most) continue;
    parts.push_back(
        escaped_and_shortened(name) + " " +
        (value.is_number_integer() ? value.dump() : fmt::format("{:.4g}", value.get<double>())));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "8 ranks on 2 hosts", "5 of 8 ranks left on n1".
std::string ranks_text(const LaunchStatus& status) {
  if (status.ranks_left == status.ranks)
    return fmt::format("{} on {}", counted(status.ranks, "rank"),
                       counted(static_cast<std::int64_t>(count_hosts(status)), "host"));
  std::string text = fmt::format("{} of {} left", status.ranks_left, counted(status.ranks, "rank"));
  if (const auto* hosts = hosts_that(status, "running"))
    text += " on " + escaped(summarize_hosts(*hosts));
  return text;
}

std::string size_text(std::uint64_t bytes) {
  return memory_use_text(static_cast<std::int64_t>(bytes));
}

// "5.2 of 8 GPUs, 310.0 GiB"; empty: nothing is known of them.
std::string gpus_text(const LaunchStatus& status) {
  std::string text;
  if (status.gpus)
    text = fmt::format("{:.1f} of {}", *status.gpus, counted(status.slots_with_gpus, "GPU"));
  if (status.gpu_memory)
    text += text.empty() ? size_text(*status.gpu_memory) + " of GPUs"
                         : ", " + size_text(*status.gpu_memory);
  return text;
}

std::string summary(const LaunchStatus& status) {
  const std::string elapsed = format_duration(status.elapsed.count());
  if (status.phase == LaunchStatus::Phase::stopping)
    return fmt::format("stopping, {}: {}", elapsed, ranks_text(status));
  std::string text;
  if (status.phase == LaunchStatus::Phase::starting) {
    const auto* ready = hosts_that(status, "ready");
    text = fmt::format("starting, {}: {} of {} ready", elapsed, ready ? ready->size() : 0,
                       counted(static_cast<std::int64_t>(count_hosts(status)), "host"));
  } else {
    text = fmt::format("{}, {}", ranks_text(status), elapsed);
  }
  if (status.restart > 0)
    text += fmt::format("; restart {} of {}", status.restart, status.max_restarts);
  if (status.phase == LaunchStatus::Phase::starting) return text;
  if (const auto* hosts = hosts_that(status, "out of reach"))
    text += "; out of reach: " + escaped(summarize_hosts(*hosts));
  if (const std::string numbers = numbers_of(status.last_report); !numbers.empty())
    text += "; " + numbers;
  if (const std::string gpus = gpus_text(status); !gpus.empty()) text += "; " + gpus;
  if (status.cpus) text += fmt::format("; {:.1f} CPUs", *status.cpus);
  if (status.memory) text += "; " + size_text(*status.memory);
  return text;
}

}  // namespace

std::vector<std::string> launch_status_rows(const LaunchStatus& status) {
  std::vector<std::string> rows = status.unfinished;
  if (status.phase == LaunchStatus::Phase::starting)
    for (std::string& row : host_rows(status)) rows.push_back(std::move(row));
  rows.push_back(summary(status));
  return rows;
}

}  // namespace train
