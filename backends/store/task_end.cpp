// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_end.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/posix/files.hpp"
#include "backends/store/private_directory.hpp"

namespace train {
namespace {

using nlohmann::json;

constexpr std::size_t longest_cause = 2'000;
// Room for the longest texts as JSON, and for everything else but the ranks.
constexpr std::size_t room_of_task = 16u << 10;
// "[-2147483648,64,false]," and some.
constexpr std::size_t room_of_rank = 32;

tl::unexpected<Error> failed(std::string_view doing, const std::string& path, int error) {
  return fail(ErrorClass::no_input,
              fmt::format("cannot {} '{}': {}", doing, path, system_reason(error)),
              elsewhere_hint());
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

template <class T>
std::optional<T> optional(const json& value) {
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

std::string text_of(const TaskRecord& task) {
  json ranks = json::array();
  for (const RankRecord& rank : task.ranks)
    ranks.push_back({or_null(rank.exit_code), or_null(rank.signal), rank.stopped});
  const json end = {{"state", to_string(task.state)},
                    {"started", or_null(task.started)},
                    {"ended", or_null(task.ended)},
                    {"restarts", task.restarts},
                    {"exit_code", or_null(task.exit_code)},
                    {"error_class", task.error_class},
                    {"cause", task.cause.substr(0, longest_cause)},
                    {"ranks", std::move(ranks)}};
  return end.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Nothing when it is another document. Throws json::exception when parts are missing.
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
  }
  return task;
}

}  // namespace

Result<void> reserve_task_end(const std::string& path, std::size_t ranks) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return failed("create", path, errno);
  const auto room = static_cast<off_t>(room_of_task + ranks * room_of_rank);
  const int error = ::posix_fallocate(file.get(), 0, room);
  if (error != 0) return failed("reserve room for", path, error);
  return {};
}

Result<void> write_task_end(const std::string& path, const TaskRecord& task) {
  const std::string text = text_of(task);
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return failed("open", path, errno);
  int error = write_whole_at(file.get(), text, 0);
  if (error == 0 && ::fdatasync(file.get()) != 0) error = errno;
  if (error != 0) return failed("write", path, error);
  return {};
}

bool read_task_end(const std::string& path, TaskRecord& task) {
  std::string line;
  std::ifstream file(path);
  if (!std::getline(file, line)) return false;
  try {
    // A file that was only reserved holds zeros, and one that was written in part ends in zeros:
    // neither is JSON.
    auto ended = with_end(task, json::parse(line));
    if (ended) task = std::move(*ended);
    return ended.has_value();
  } catch (const json::exception&) {
    return false;
  }
}

}  // namespace train
