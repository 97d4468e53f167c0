// SPDX-License-Identifier: Apache-2.0
#include "cli/show/trial_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/show/task_table.hpp"
#include "cli/terminal/table.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"

namespace train {

namespace {

std::string number_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

}  // namespace

std::string trials_to_table(const SearchConfig& config, const std::vector<TrialRow>& rows,
                            std::optional<std::int64_t> best) {
  TableRows table = {{"TRIAL", "STATE", "HOSTS", "LASTED", "STEP",
                      config.metric.empty() ? "BEST" : "BEST " + config.metric}};
  if (!rows.empty())
    for (const VariedValue& value : rows.front().varied) table.front().push_back(value.name);
  for (const TrialRow& row : rows) {
    auto& line = table.emplace_back();
    line = {fmt::format("{}{}", row.trial, best == row.trial ? " *" : ""),
            std::string(trial_states().row(row.state).name),
            row.hosts.empty() ? "-" : summarize_hosts(row.hosts, 2),
            row.lasted ? format_duration(*row.lasted) : "-",
            number_text(row.step),
            number_text(row.best)};
    for (const VariedValue& value : row.varied) line.push_back(value.text);
  }
  return table_text(std::move(table));
}

std::string count_trials(const std::function<std::int64_t(TrialState)>& count_of) {
  std::int64_t all = 0;
  std::vector<std::string> counts;
  for (const auto& row : trial_states().rows()) {
    const std::int64_t count = count_of(row.state);
    all += count;
    if (count > 0) counts.push_back(fmt::format("{} {}", count, row.name));
  }
  return fmt::format("{} trial{}{}{}", all, all == 1 ? "" : "s", all == 0 ? "" : ": ",
                     fmt::join(counts, ", "));
}

}  // namespace train
