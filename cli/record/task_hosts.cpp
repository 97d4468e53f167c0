// SPDX-License-Identifier: Apache-2.0
#include "cli/record/task_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/posix/files.hpp"
#include "launcher/journal/search_record.hpp"
#include "launcher/record/task_hosts_file.hpp"

namespace train {

namespace {

constexpr std::size_t largest_file = 64u << 20;

tl::unexpected<Error> unreadable(const std::string& path) {
  return fail(ErrorClass::no_input,
              fmt::format("'{}' cannot be read: it says how its hosts are reached", path),
              "look there for what its ranks may have left");
}

std::optional<std::string> text_in(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file || size > largest_file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Not synced to disk, which would delay a launch: the file is only read after this process has
// died, and the kernel still writes it then.
Result<void> write(const std::string& path, const std::string& text) {
  if (write_file(path, text, 0600)) return {};
  return fail(ErrorClass::no_input, fmt::format("cannot write '{}'", path),
              "make room on this file system");
}

// --- Ranks of trials ---

Result<TrialRank> rank_of_only_trial(const TaskRecord& task, std::optional<int> trial, int rank) {
  if (trial.value_or(0) == 0) return TrialRank{task.ranks[static_cast<std::size_t>(rank)].host};
  return fail(ErrorClass::no_input,
              fmt::format("task {} has no trial {}: it is no search", task.id, *trial));
}

Result<TrialRank> rank_of_trial(SqliteTaskStore& store, const TaskRecord& task,
                                std::optional<int> trial, int rank) {
  const std::string hint = fmt::format("'train task show {}' lists its trials", task.id);
  if (!trial)
    return fail(ErrorClass::usage,
                fmt::format("task {} is a search: say of which trial, as --trial 0", task.id),
                hint);
  const auto lines = store.read_journal(task.id);
  if (!lines) return tl::make_unexpected(lines.error());
  const auto journal = decode_journal(*lines);
  if (!journal) return tl::make_unexpected(journal.error());
  if (auto found = trial_rank_of(*journal, *trial, rank)) return *found;
  return fail(ErrorClass::no_input,
              fmt::format("no trial {} of task {} has begun", *trial, task.id), hint);
}

}  // namespace

Result<void> keep_task_hosts(const SqliteTaskStore& store, const std::string& task_id,
                             const std::vector<Host>& hosts, const std::string& working_directory) {
  return write(store.hosts_file(task_id), task_hosts_file(hosts, working_directory));
}

Result<std::vector<Host>> read_task_hosts(const SqliteTaskStore& store,
                                          const std::string& task_id) {
  const std::string path = store.hosts_file(task_id);
  const auto text = text_in(path);
  if (!text) return unreadable(path);
  auto inventory = parse_hosts({path, *text});
  if (!inventory) return tl::make_unexpected(inventory.error());
  return std::move(inventory->hosts);
}

Result<RankHost> read_rank_host(SqliteTaskStore& store, const TaskRecord& task,
                                std::optional<int> trial, int rank) {
  if (rank >= task.world_size)
    return fail(ErrorClass::no_input, fmt::format("task {} has no rank {}: its ranks are 0 to {}",
                                                  task.id, rank, task.world_size - 1));
  const auto trial_rank = is_search(task) ? rank_of_trial(store, task, trial, rank)
                                          : rank_of_only_trial(task, trial, rank);
  if (!trial_rank) return tl::make_unexpected(trial_rank.error());
  const std::string& name = trial_rank->host;
  const auto hosts = read_task_hosts(store, task.id);
  if (!hosts) return tl::make_unexpected(hosts.error());
  const auto host = std::find_if(hosts->begin(), hosts->end(),
                                 [&](const Host& each) { return each.name == name; });
  if (host == hosts->end())
    return fail(ErrorClass::bug,
                fmt::format("host '{}' of rank {} is none of task {}", name, rank, task.id));
  return RankHost{*host, agent_key(task.id, static_cast<int>(host - hosts->begin())),
                  trial_rank->has_ended};
}

Result<void> keep_unsettled_hosts(const SqliteTaskStore& store, const std::string& task_id,
                                  const std::set<int>& unsettled) {
  return write(store.unsettled_file(task_id), nlohmann::json(unsettled).dump() + "\n");
}

// A partly written file is not usable: then any host may be unsettled.
std::set<int> read_unsettled_hosts(const SqliteTaskStore& store, const TaskRecord& task,
                                   std::size_t hosts) {
  std::set<int> unsettled;
  const auto text = text_in(store.unsettled_file(task.id));
  const auto list = nlohmann::json::parse(text.value_or(""), nullptr, false);
  const bool is_known = list.is_array();
  for (int host = 0; host < static_cast<int>(hosts); ++host)
    if (!is_known || std::find(list.begin(), list.end(), host) != list.end())
      unsettled.insert(host);
  return unsettled;
}

std::vector<std::string> names_of_unsettled_hosts(const SqliteTaskStore& store,
                                                  const TaskRecord& task) {
  std::vector<std::string> names;
  const auto hosts = is_final(task.state) ? read_task_hosts(store, task.id)
                                          : Result<std::vector<Host>>(std::vector<Host>());
  if (!hosts) return names;
  for (const int host : read_unsettled_hosts(store, task, hosts->size()))
    names.push_back((*hosts)[static_cast<std::size_t>(host)].name);
  return names;
}

}  // namespace train
