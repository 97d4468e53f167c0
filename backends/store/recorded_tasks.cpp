// SPDX-License-Identifier: Apache-2.0
// The part of a store that covers all recorded tasks, of this and of other launchers.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/registry/task_rows.hpp"
#include "backends/store/left_task.hpp"
#include "backends/store/recent_tasks.hpp"
#include "backends/store/store_state.hpp"
#include "backends/store/task_bundle.hpp"
#include "backends/store/task_end_file.hpp"
#include "backends/store/task_reader.hpp"
#include "backends/store/task_removal.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/journal/journaled_end.hpp"

namespace train {

/// Returns the record with its actual state. When the record is not final and its launcher is gone,
/// the task gets the end that the launcher left in the end file or in the journal, or else becomes
/// `lost` or unattended.
TaskRecord SqliteTaskStore::Impl::with_actual_state(TaskRecord task) {
  if (is_final(task.state) || own_tasks.contains(task.id)) return task;
  if (probe_task_lock(lock_file(task.id)) != TaskLockState::gone) return task;
  // Held while the end is recorded, so that no other process adopts the task meanwhile.
  std::optional<TaskLock> lock;
  if (!read_task_end(end_file(task.id), task)) {
    const Moment last_life = last_sign_of_life(*database, task, lock_file(task.id));
    const LeftJournal journal = left_journal(*database, task.id);
    TaskRecord ended = task;
    const bool has_end = end_by_journal(ended, journal.entries, last_life.wall);
    const milliseconds left = may_go_on_for(task, journal, last_life);
    if (!has_end && left.count() >= 0) {
      task.is_unattended = true;
      if (left < for_ever) task.lost_in_ms = left.count();
      if (journal.has_stop()) task.state = TaskState::stopping;
      return task;
    }
    auto taken_lock = TaskLock::adopt(lock_file(task.id));
    if (!taken_lock && taken_lock.error().error_class == ErrorClass::busy) return task;
    if (taken_lock) lock = std::move(*taken_lock);
    if (has_end)
      task = std::move(ended);
    else
      lose(task, last_life.wall,
           fmt::format("the launcher (process {}) ended without a word; its last sign of life is "
                       "the end given here",
                       task.launcher_pid));
  }
  try {
    // The launcher may have recorded the end after the record was read and before the lock was
    // probed.
    if (!record_end(*database, task, unix_time_ms()))
      if (auto finished = read_task(*database, task.id)) return *finished;
  } catch (const SQLite::Exception&) {
    // The end is the same whether or not it can be recorded (a full disk, a lock held for long):
    // the next reader determines it again.
    return task;
  }
  settle(task.id);
  remove_bundle(directory(task.id), programs());
  return task;
}

/// Removes the end file of a task once the end is durable in the registry. The file stays if the
/// registry cannot be settled.
void SqliteTaskStore::Impl::settle(const std::string& id) {
  try {
    if (settle_registry(*database)) unlink(end_file(id).c_str());
  } catch (const SQLite::Exception&) {
    // The end is recorded anyway; the file still has it if the record gets damaged.
  }
}

/// What a word that is no id may mean: the name of a task, or an id that was mistyped.
std::string SqliteTaskStore::Impl::hint_for_unknown(const std::string& word) const {
  static constexpr std::size_t most_compared = 1'000;
  std::vector<std::string> ids;
  for (RecentTask& task : recent_tasks(root, most_compared)) {
    if (task.name == word) return fmt::format("the last task of that name is {}", task.id);
    ids.push_back(std::move(task.id));
  }
  const std::string meant = did_you_mean(word, ids);
  return meant.empty() ? "'train task list --all' shows all tasks" : meant;
}

Error SqliteTaskStore::Impl::none_or_several(const std::string& prefix,
                                             const std::vector<std::string>& ids) {
  static constexpr std::size_t shown = 5;
  if (ids.empty())
    return make_error(ErrorClass::no_input, fmt::format("there is no task '{}'", prefix),
                      hint_for_unknown(prefix));
  const std::vector<std::string> first(ids.begin(), ids.begin() + std::min(ids.size(), shown));
  return make_error(ErrorClass::no_input,
                    fmt::format("'{}' is the start of several tasks: {}{}", prefix,
                                fmt::join(first, ", "), ids.size() > shown ? ", ..." : ""),
                    "give more letters of the one that is meant");
}

/// The id that equals this prefix, or the only one that starts with it. Throws SQLite::Exception.
Result<std::string> SqliteTaskStore::Impl::id_of(const std::string& prefix) {
  if (prefix.empty())
    return fail(ErrorClass::no_input, "an empty word names no task",
                "'train task list --all' shows all tasks");
  auto ids = ids_with_prefix(*database, prefix, 6);
  const bool is_exact = !ids.empty() && ids.front() == prefix;
  if (ids.size() != 1 && !is_exact) return tl::make_unexpected(none_or_several(prefix, ids));
  return std::move(ids.front());
}

/// The hint for a task whose record cannot be read.
std::string SqliteTaskStore::Impl::step_after_damage(const std::string& id) const {
  if (!is_task_id(id)) return damaged_hint(registry());
  return fmt::format("train task rm --force {} removes it; its logs are in '{}'", id,
                     log_directory(id));
}

Result<TaskRecord> SqliteTaskStore::find(const std::string& prefix) {
  const std::lock_guard turn(impl_->mutex);
  return impl_->guarded([&]() -> Result<TaskRecord> {
    auto id = impl_->id_of(prefix);
    if (!id) return tl::make_unexpected(id.error());
    try {
      auto task = read_task(*impl_->database, *id);
      if (!task) return tl::make_unexpected(impl_->none_or_several(prefix, {}));
      return impl_->with_actual_state(std::move(*task));
    } catch (const SQLite::Exception& exception) {
      if (!is_damage(exception)) throw;
      return tl::make_unexpected(with_hints(registry_error(impl_->registry(), exception),
                                            {impl_->step_after_damage(*id)}));
    }
  });
}

Result<TaskList> SqliteTaskStore::list(bool all) {
  const std::lock_guard turn(impl_->mutex);
  return impl_->guarded([&]() -> Result<TaskList> {
    TaskList list = read_tasks(*impl_->database, all);
    for (TaskRecord& task : list.tasks)
      if (!is_final(task.state)) task = impl_->with_actual_state(std::move(task));
    if (!all)
      std::erase_if(list.tasks, [](const TaskRecord& task) { return is_final(task.state); });
    for (DamagedTask& task : list.damaged) task.next_step = impl_->step_after_damage(task.id);
    return list;
  });
}

Result<void> SqliteTaskStore::remove(const std::string& id) {
  const std::lock_guard turn(impl_->mutex);
  const std::string tasks_folder = impl_->root + "/tasks";
  auto removed = impl_->guarded([&]() -> Result<void> {
    auto task = read_task(*impl_->database, id);
    if (!task) return tl::make_unexpected(impl_->none_or_several(id, {}));
    const TaskRecord now = impl_->with_actual_state(std::move(*task));
    if (!is_final(now.state))
      return fail(ErrorClass::busy, fmt::format("task '{}' has not ended", id));
    if (auto aside = set_aside(tasks_folder, id); !aside) return aside;
    delete_task(*impl_->database, id);
    return {};
  });
  return removed ? remove_set_aside(tasks_folder, id, impl_->programs()) : removed;
}

bool SqliteTaskStore::is_damaged(const std::string& prefix) {
  const std::lock_guard turn(impl_->mutex);
  try {
    const auto id = impl_->id_of(prefix);
    if (id) (void)read_task(*impl_->database, *id);
    return false;
  } catch (const SQLite::Exception& exception) {
    return is_damage(exception);
  }
}

Result<std::string> SqliteTaskStore::remove_damaged(const std::string& prefix) {
  const std::lock_guard turn(impl_->mutex);
  const std::string tasks_folder = impl_->root + "/tasks";
  auto id = impl_->guarded([&] { return impl_->id_of(prefix); });
  if (!id) return id;
  if (!is_task_id(*id))
    return fail(ErrorClass::no_input, fmt::format("'{}' is not a task id", *id),
                damaged_hint(impl_->registry()));
  const std::string lock_file = impl_->lock_file(*id);
  if (probe_task_lock(lock_file) == TaskLockState::alive)
    return fail(
        ErrorClass::busy,
        fmt::format("task {} is not removed: its launcher runs, and its record is damaged", *id),
        fmt::format("'fuser {}' names its process, which ends the task at SIGTERM", lock_file));
  // If the row cannot be deleted, the folder stays.
  auto removed = impl_->guarded([&]() -> Result<void> {
    delete_task(*impl_->database, *id);
    return set_aside(tasks_folder, *id);
  });
  if (removed) removed = remove_set_aside(tasks_folder, *id, impl_->programs());
  if (!removed) return tl::make_unexpected(removed.error());
  return id;
}

Result<void> SqliteTaskStore::finish_removals() {
  const std::lock_guard turn(impl_->mutex);
  return remove_all_set_aside(impl_->root + "/tasks", impl_->programs());
}

std::string SqliteTaskStore::lock_file(const std::string& id) const { return impl_->lock_file(id); }

Result<void> SqliteTaskStore::note_git(const std::string& id, const GitRecord& git) {
  const std::lock_guard turn(impl_->mutex);
  return impl_->guarded([&]() -> Result<void> {
    if (train::note_git(*impl_->database, id, git)) return {};
    return tl::make_unexpected(impl_->none_or_several(id, {}));
  });
}

Result<void> SqliteTaskStore::keep_launch(const std::string& id, std::string_view launch) const {
  const std::string path = impl_->directory(id) + "/launch.json";
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const int error = file ? write_whole(file.get(), launch) : errno;
  if (error == 0) return {};
  return fail(ErrorClass::no_input,
              fmt::format("cannot write '{}': {}", path, system_reason(error)));
}

Result<std::string> SqliteTaskStore::read_launch(const std::string& id) const {
  constexpr std::size_t largest = std::size_t{64} << 20;
  const std::string path = impl_->directory(id) + "/launch.json";
  std::string text = read_small_file(path, largest);
  if (!text.empty()) return text;
  return fail(ErrorClass::no_input, fmt::format("'{}' cannot be read", path));
}

Result<void> SqliteTaskStore::keep_request(const std::string& id, std::string_view request) const {
  return train::keep_request(bundle_folder(id), request);
}

Result<void> SqliteTaskStore::keep_program(const std::string& id) const {
  return train::keep_program(bundle_folder(id), impl_->programs());
}

Result<void> SqliteTaskStore::keep_context(const std::string& id, std::string_view archive) const {
  return train::keep_context(bundle_folder(id), archive);
}

std::string SqliteTaskStore::bundle_folder(const std::string& id) const {
  return impl_->directory(id) + "/" + bundle_name;
}

std::string SqliteTaskStore::supervisor_log(const std::string& id) const {
  return impl_->directory(id) + "/launcher.log";
}

std::string SqliteTaskStore::control_socket(const std::string& id) const {
  return impl_->directory(id) + "/control";
}

std::string SqliteTaskStore::hosts_file(const std::string& id) const {
  return impl_->directory(id) + "/hosts.yaml";
}

std::string SqliteTaskStore::usage_file(const std::string& id) const {
  return impl_->directory(id) + "/usage.jsonl";
}

std::string SqliteTaskStore::starts_file(const std::string& id) const {
  return impl_->directory(id) + "/starts.jsonl";
}

std::string SqliteTaskStore::hang_file(const std::string& id) const {
  return impl_->directory(id) + "/hang.txt";
}

std::string SqliteTaskStore::unsettled_file(const std::string& id) const {
  return impl_->directory(id) + "/unsettled.json";
}

std::string SqliteTaskStore::log_directory(const std::string& id) const {
  return impl_->log_directory(id);
}

}  // namespace train
