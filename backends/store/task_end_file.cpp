// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_end_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/posix/files.hpp"
#include "backends/registry/private_directory.hpp"

namespace train {
namespace {

using nlohmann::json;

constexpr std::size_t longest_cause = 2'000;
// Bytes for the longest texts as JSON, and for everything except the ranks.
constexpr std::size_t room_of_task = 16u << 10;
// "[-2147483648,64,false,N,N,N]," where each N is a resource usage of at most 19 digits, and some
// spare bytes.
constexpr std::size_t room_of_rank = 96;
// Bytes for the findings (out of memory, core file) of ranks: enough for those of a few ranks at
// any length, or for those of all ranks at usual length.
constexpr std::size_t room_of_findings = 40u << 10;
constexpr std::size_t room_of_finding = 128;

std::size_t room_for(std::size_t ranks) {
  return room_of_task + room_of_findings + ranks * (room_of_rank + room_of_finding);
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

template <class T>
std::optional<T> optional(const json& value) {
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Each finding has the index of the rank, why the rank ran out of memory, and the place of its core
// file. Adds findings as long as they fit in `room`; ranks that were not stopped come first, since
// they are the causes.
json findings_of(const TaskRecord& task, std::size_t room) {
  json findings = json::array();
  for (const bool stopped : {false, true})
    for (std::size_t i = 0; i < task.ranks.size(); ++i) {
      const RankRecord& rank = task.ranks[i];
      if (rank.stopped != stopped || (rank.oom.empty() && rank.core.empty())) continue;
      json finding = {i, rank.oom, rank.core};
      const std::size_t size = dump(finding).size() + 1;
      if (size > room) return findings;
      room -= size;
      findings.push_back(std::move(finding));
    }
  return findings;
}

std::string text_of(const TaskRecord& task) {
  json ranks = json::array();
  for (const RankRecord& rank : task.ranks)
    ranks.push_back({or_null(rank.exit_code), or_null(rank.signal), rank.stopped,
                     or_null(rank.cpu_ms), or_null(rank.memory), or_null(rank.memory_peak)});
  json end = {{"state", to_string(task.state)},
              {"started", or_null(task.started)},
              {"ended", or_null(task.ended)},
              {"restarts", task.restarts},
              {"exit_code", or_null(task.exit_code)},
              {"error_class", task.error_class},
              {"cause", task.cause.substr(0, longest_cause)},
              {"ranks", std::move(ranks)},
              {"findings", json::array()}};
  const std::size_t used = dump(end).size() + 1;
  end["findings"] = findings_of(task, room_for(task.ranks.size()) - used);
  return dump(end) + "\n";
}

/// Returns nothing when it is another document. Throws json::exception when parts are missing.
std::optional<TaskRecord> with_end(TaskRecord task, const json& end) {
  const auto state = task_state_from_string(end.at("state").get<std::string>());
  const json& ranks = end.at("ranks");
  if (!state || !is_final(*state) || ranks.size() != task.ranks.size()) return std::nullopt;
  task.state = *state;
  task.started = optional<UnixMillis>(end.at("started"));
  task.ended = optional<UnixMillis>(end.at("ended"));
  task.restarts = end.at("restarts").get<int>();
  task.exit_code = optional<int>(end.at("exit_code"));
  task.error_class = end.at("error_class").get<std::string>();
  task.cause = end.at("cause").get<std::string>();
  end_last_attempt(task);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    task.ranks[i].exit_code = optional<int>(ranks[i].at(0));
    task.ranks[i].signal = optional<int>(ranks[i].at(1));
    task.ranks[i].stopped = ranks[i].at(2).get<bool>();
    task.ranks[i].cpu_ms = optional<std::int64_t>(ranks[i].at(3));
    task.ranks[i].memory = optional<std::int64_t>(ranks[i].at(4));
    task.ranks[i].memory_peak = optional<std::int64_t>(ranks[i].at(5));
  }
  for (const json& finding : end.at("findings")) {
    const auto place = finding.at(0).get<std::size_t>();
    if (place >= task.ranks.size()) return std::nullopt;
    task.ranks[place].oom = finding.at(1).get<std::string>();
    task.ranks[place].core = finding.at(2).get<std::string>();
  }
  return task;
}

}  // namespace

Result<void> reserve_task_end(const std::string& path, std::size_t ranks) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return could_not("create", path, errno);
  const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(room_for(ranks)));
  if (error != 0) return could_not("reserve room for", path, error);
  return {};
}

Result<void> write_task_end(const std::string& path, const TaskRecord& task) {
  const std::string text = text_of(task);
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return could_not("open", path, errno);
  int error = write_whole_at(file.get(), text, 0);
  if (error == 0 && ::fdatasync(file.get()) != 0) error = errno;
  if (error != 0) return could_not("write", path, error);
  return {};
}

bool read_task_end(const std::string& path, TaskRecord& task) {
  std::string line;
  std::ifstream file(path);
  if (!std::getline(file, line)) return false;
  try {
    // A reserved file contains zeros, and a partly written one ends in zeros: neither is JSON.
    auto ended = with_end(task, json::parse(line));
    if (ended) task = std::move(*ended);
    return ended.has_value();
  } catch (const json::exception&) {
    return false;
  }
}

}  // namespace train
