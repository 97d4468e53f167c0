// SPDX-License-Identifier: Apache-2.0
#include "backends/store/sqlite_task_store.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/store/journal_rows.hpp"
#include "backends/store/launcher_lock.hpp"
#include "backends/store/private_directory.hpp"
#include "backends/store/registry.hpp"
#include "backends/store/task_bundle.hpp"
#include "backends/store/task_end.hpp"
#include "backends/store/task_removal.hpp"
#include "backends/store/task_rows.hpp"
#include "launcher/task/journal.hpp"
#include "launcher/task/journaled_end.hpp"

namespace train {
namespace {

/// A task that this process launches.
struct OwnTask {
  std::shared_ptr<LauncherLock> lock;
  TaskState state;
  std::int64_t next_entry = 0;  ///< of its journal
  bool is_displaced = false;    ///< another process has taken it over
};

UnixMillis modified(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return 0;
  return status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

/// An id becomes part of paths and of a range in SQL.
bool is_task_id(const std::string& id) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !id.empty() && id.size() <= 32 && std::all_of(id.begin(), id.end(), allowed);
}

tl::unexpected<Error> taken(const std::string& id) {
  return fail(ErrorClass::bug, fmt::format("there is a task '{}' already", id));
}

tl::unexpected<Error> displaced(const std::string& id) {
  return fail(ErrorClass::busy, fmt::format("another launcher has taken over task '{}'", id));
}

tl::unexpected<Error> not_ours(const std::string& id) {
  return fail(ErrorClass::bug, fmt::format("task '{}' is not this launcher's", id));
}

}  // namespace

struct SqliteTaskStore::Impl {
  std::string root;
  std::unique_ptr<SQLite::Database> database;
  std::map<std::string, OwnTask> own_tasks;
  std::mutex mutex;  ///< held by every call

  std::string registry() const { return root + "/tasks.db"; }
  std::string directory(const std::string& id) const { return root + "/tasks/" + id; }
  std::string lock_file(const std::string& id) const { return directory(id) + "/launcher.lock"; }
  std::string programs() const { return root + "/programs"; }
  std::string end_file(const std::string& id) const { return directory(id) + "/end.json"; }
  std::string log_directory(const std::string& id) const { return directory(id) + "/logs"; }

  /// Turns exceptions of SQLite into errors; nothing else here catches them.
  template <class Work>
  auto guarded(Work&& work) -> decltype(work()) {
    try {
      return work();
    } catch (const std::exception& exception) {
      return tl::make_unexpected(registry_error(registry(), exception));
    }
  }

  Result<LauncherLock> make_directories(const std::string& id, std::size_t ranks);
  void remove_directories(const std::string& id) const;
  UnixMillis last_sign_of_life(const TaskRecord& task);
  std::vector<JournalEntry> journal_of(const std::string& id);
  bool may_go_on(const TaskRecord& task, const std::vector<JournalEntry>& journal);
  static bool has_stop(const std::vector<JournalEntry>& journal);
  TaskRecord with_actual_state(TaskRecord task);
  Result<void> write(const TaskRecord& task);
  Result<void> check_ours(const std::string& id, OwnTask& own);
  Result<bool> find_displaced(const std::string& id, OwnTask& own);
  void settle(const std::string& id);
  Error none_or_several(const std::string& prefix, const std::vector<std::string>& ids);
};

Result<LauncherLock> SqliteTaskStore::Impl::make_directories(const std::string& id,
                                                             std::size_t ranks) {
  if (auto made = make_private_directory(root + "/tasks"); !made)
    return tl::make_unexpected(std::move(made.error()));
  if (mkdir(directory(id).c_str(), 0700) != 0 && errno == EEXIST) return taken(id);
  auto made = make_private_directory(directory(id));
  if (made) made = make_private_directory(log_directory(id));
  if (made) made = reserve_task_end(end_file(id), ranks);
  auto lock = made ? LauncherLock::create(lock_file(id))
                   : Result<LauncherLock>(tl::make_unexpected(std::move(made.error())));
  if (!lock) remove_directories(id);
  return lock;
}

/// Undoes `make_directories`; anything else in the folders stays.
void SqliteTaskStore::Impl::remove_directories(const std::string& id) const {
  unlink(lock_file(id).c_str());
  unlink(end_file(id).c_str());
  rmdir(log_directory(id).c_str());
  rmdir(directory(id).c_str());
}

/// The latest moment at which the launcher is known to have lived: it recorded, noted or wrote into
/// logs.
UnixMillis SqliteTaskStore::Impl::last_sign_of_life(const TaskRecord& task) {
  UnixMillis latest =
      std::max({task.created, last_update(*database, task.id), modified(lock_file(task.id))});
  for (const std::string& name : names_in(FolderReader(task.log_directory)))
    latest = std::max(latest, modified(fmt::format("{}/{}", task.log_directory, name)));
  return latest;
}

/// All entries that can be read.
std::vector<JournalEntry> SqliteTaskStore::Impl::journal_of(const std::string& id) {
  std::vector<JournalEntry> journal;
  for (const std::string& line : read_entries(*database, id, most_journal_entries)) {
    if (auto entry = decode_entry(line)) journal.push_back(std::move(*entry));
  }
  return journal;
}

/// Whether ranks of a task whose launcher has died may still run: some were started, and their
/// agents let them outlive it.
bool SqliteTaskStore::Impl::may_go_on(const TaskRecord& task,
                                      const std::vector<JournalEntry>& journal) {
  if (task.outlives_ms <= 0) return false;
  const bool is_for_ever = task.outlives_ms >= for_ever.count();
  if (!is_for_ever && unix_time_ms() > last_sign_of_life(task) + task.outlives_ms) return false;
  return std::any_of(journal.begin(), journal.end(), [](const JournalEntry& entry) {
    return std::holds_alternative<journal_record::RanksStarted>(entry.record);
  });
}

bool SqliteTaskStore::Impl::has_stop(const std::vector<JournalEntry>& journal) {
  return std::any_of(journal.begin(), journal.end(), [](const JournalEntry& entry) {
    return std::holds_alternative<journal_record::StopRequested>(entry.record);
  });
}

/// The record that was read. When it is not final and its launcher is gone, it gets the end that
/// the launcher has left in its file or in the journal, or the state `lost`, or is unattended.
TaskRecord SqliteTaskStore::Impl::with_actual_state(TaskRecord task) {
  if (is_final(task.state) || own_tasks.contains(task.id)) return task;
  if (probe_launcher(lock_file(task.id)) != LauncherSign::gone) return task;
  // Whoever takes the task over meanwhile has the lock.
  std::optional<LauncherLock> lock;
  if (!read_task_end(end_file(task.id), task)) {
    const std::vector<JournalEntry> journal = journal_of(task.id);
    TaskRecord ended = task;
    const bool has_end = end_by_journal(ended, journal, last_sign_of_life(task));
    if (!has_end && may_go_on(task, journal)) {
      task.is_unattended = true;
      if (has_stop(journal)) task.state = TaskState::stopping;
      return task;
    }
    auto taken_lock = LauncherLock::adopt(lock_file(task.id));
    if (!taken_lock && taken_lock.error().error_class == ErrorClass::busy) return task;
    if (taken_lock) lock = std::move(*taken_lock);
    if (has_end)
      task = std::move(ended);
    else
      lose(task, last_sign_of_life(task),
           fmt::format("the launcher (process {}) ended without a word; its last sign of life is "
                       "the end given here",
                       task.launcher_pid));
  }
  try {
    // The launcher may have recorded its end after the first read and before the look at the lock.
    if (!record_end(*database, task, unix_time_ms()))
      if (auto finished = read_task(*database, task.id)) return *finished;
  } catch (const SQLite::Exception&) {
    // The end is the same whether or not it can be recorded (a full disk, a lock held for long):
    // the next reader finds it out again.
    return task;
  }
  settle(task.id);
  remove_bundle(directory(task.id), programs());
  return task;
}

/// Removes the file with the end of a task once the registry has the end for good. Where the
/// registry cannot be settled, the file stays.
void SqliteTaskStore::Impl::settle(const std::string& id) {
  try {
    if (settle_registry(*database)) unlink(end_file(id).c_str());
  } catch (const SQLite::Exception&) {
    // The end is recorded all the same, and the file keeps it should the record be damaged.
  }
}

Error SqliteTaskStore::Impl::none_or_several(const std::string& prefix,
                                             const std::vector<std::string>& ids) {
  static constexpr std::size_t shown = 5;
  if (ids.empty())
    return make_error(ErrorClass::no_input, fmt::format("there is no task '{}'", prefix),
                      "'train task list --all' shows all tasks");
  const std::vector<std::string> first(ids.begin(), ids.begin() + std::min(ids.size(), shown));
  return make_error(ErrorClass::no_input,
                    fmt::format("'{}' is the start of several tasks: {}{}", prefix,
                                fmt::join(first, ", "), ids.size() > shown ? ", ..." : ""),
                    "give more letters of the one that is meant");
}

SqliteTaskStore::SqliteTaskStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteTaskStore::~SqliteTaskStore() = default;

Result<std::unique_ptr<SqliteTaskStore>> SqliteTaskStore::open(const std::string& root) {
  auto impl = std::make_unique<Impl>();
  impl->root = root;
  while (impl->root.size() > 1 && impl->root.ends_with('/')) impl->root.pop_back();
  if (auto made = make_private_directory(impl->root); !made)
    return tl::make_unexpected(std::move(made.error()));
  auto database = open_registry(impl->registry());
  if (!database) return tl::make_unexpected(std::move(database.error()));
  impl->database = std::move(*database);
  return std::unique_ptr<SqliteTaskStore>(new SqliteTaskStore(std::move(impl)));
}

Result<void> SqliteTaskStore::create(const TaskRecord& task) {
  const std::lock_guard turn(impl_->mutex);
  if (!is_task_id(task.id))
    return fail(ErrorClass::bug, fmt::format("'{}' is not a task id", task.id));
  // The lock is taken first, so that nobody can find a record whose launcher does not seem to live.
  auto lock = impl_->make_directories(task.id, task.ranks.size());
  if (!lock) return tl::make_unexpected(std::move(lock.error()));
  auto created = impl_->guarded([&]() -> Result<void> {
    if (!insert_task(*impl_->database, task, unix_time_ms())) return taken(task.id);
    return {};
  });
  if (created)
    impl_->own_tasks.emplace(
        task.id, OwnTask{std::make_shared<LauncherLock>(std::move(*lock)), task.state, 0});
  else
    impl_->remove_directories(task.id);
  return created;
}

Result<void> SqliteTaskStore::start_over(const TaskRecord& task) {
  const std::lock_guard turn(impl_->mutex);
  const auto own = impl_->own_tasks.find(task.id);
  if (own == impl_->own_tasks.end()) return not_ours(task.id);
  if (auto ours = impl_->check_ours(task.id, own->second); !ours) return ours;
  const std::string logs = impl_->log_directory(task.id);
  for (const std::string& name : names_in(FolderReader(logs)))
    (void)::unlink(fmt::format("{}/{}", logs, name).c_str());
  const std::string end_file = impl_->end_file(task.id);
  (void)::unlink(end_file.c_str());
  if (auto reserved = reserve_task_end(end_file, task.ranks.size()); !reserved) return reserved;
  auto replaced = impl_->guarded([&]() -> Result<void> {
    TaskRecord anew = task;
    if (const auto before = read_task(*impl_->database, task.id)) anew.git = before->git;
    if (!replace_task(*impl_->database, anew, unix_time_ms()))
      return fail(ErrorClass::no_input, fmt::format("there is no task '{}' any more", task.id));
    return {};
  });
  if (!replaced) return replaced;
  own->second.state = task.state;
  own->second.next_entry = 0;
  return {};
}

Result<void> SqliteTaskStore::update(const TaskRecord& task) {
  const std::lock_guard turn(impl_->mutex);
  const auto own = impl_->own_tasks.find(task.id);
  if (own == impl_->own_tasks.end()) return not_ours(task.id);
  if (task.state != own->second.state && !is_legal_change(own->second.state, task.state))
    return fail(ErrorClass::bug, fmt::format("task '{}' cannot go from {} to {}", task.id,
                                             to_string(own->second.state), to_string(task.state)));
  if (auto ours = impl_->check_ours(task.id, own->second); !ours) return ours;
  const bool is_end = is_final(task.state);
  const auto end_written = is_end ? write_task_end(impl_->end_file(task.id), task) : Result<void>();
  if (auto updated = impl_->write(task); !updated) {
    if (!is_end) return updated;
    auto& diagnostics = updated.error().diagnostics;
    if (end_written)
      diagnostics.push_back(
          {.place = {},
           .key = {},
           .message = fmt::format("its end is kept in '{}', and recorded by the next 'train task'",
                                  impl_->end_file(task.id)),
           .hint = {}});
    else
      diagnostics.push_back(end_written.error().diagnostics.front());
    return updated;
  }
  own->second.state = task.state;
  if (!is_end) return {};
  impl_->own_tasks.erase(own);
  impl_->settle(task.id);
  remove_bundle(impl_->directory(task.id), impl_->programs());
  return {};
}

/// That nobody else has adopted the task, nor written into the journal. A registry that cannot be
/// read now is found out, and waited for, by what follows.
Result<void> SqliteTaskStore::Impl::check_ours(const std::string& id, OwnTask& own) {
  database->setBusyTimeout(0);
  (void)find_displaced(id, own);
  database->setBusyTimeout(registry_wait_ms);
  if (own.is_displaced) return displaced(id);
  return {};
}

Result<bool> SqliteTaskStore::Impl::find_displaced(const std::string& id, OwnTask& own) {
  own.is_displaced = own.is_displaced || !own.lock->is_ours();
  if (own.is_displaced) return true;
  return guarded([&]() -> Result<bool> {
    own.is_displaced = next_entry(*database, id) > own.next_entry;
    return own.is_displaced;
  });
}

Result<void> SqliteTaskStore::adopt(const std::string& id) {
  const std::lock_guard turn(impl_->mutex);
  if (!is_task_id(id)) return fail(ErrorClass::no_input, fmt::format("'{}' is not a task id", id));
  if (impl_->own_tasks.contains(id)) return {};
  // The record is read under the lock: whoever held it before may have ended the task.
  auto lock = LauncherLock::adopt(impl_->lock_file(id));
  if (!lock)
    return tl::make_unexpected(
        with_context(lock.error(), fmt::format("while taking over task '{}'", id)));
  return impl_->guarded([&]() -> Result<void> {
    const auto task = read_task(*impl_->database, id);
    if (!task) return tl::make_unexpected(impl_->none_or_several(id, {}));
    if (is_final(task->state))
      return fail(ErrorClass::no_input,
                  fmt::format("task '{}' has ended: {}", id, to_string(task->state)));
    lock->sign();
    const std::int64_t next = next_entry(*impl_->database, id);
    impl_->own_tasks.emplace(
        id, OwnTask{std::make_shared<LauncherLock>(std::move(*lock)), task->state, next});
    return {};
  });
}

Result<void> SqliteTaskStore::append_journal(const std::string& id, const std::string& entry,
                                             bool durable) {
  const std::lock_guard turn(impl_->mutex);
  const auto own = impl_->own_tasks.find(id);
  if (own == impl_->own_tasks.end()) return not_ours(id);
  if (own->second.next_entry >= static_cast<std::int64_t>(most_journal_entries))
    return fail(ErrorClass::no_input, fmt::format("the journal of task '{}' is full", id));
  return impl_->guarded([&]() -> Result<void> {
    OwnTask& task = own->second;
    task.is_displaced = task.is_displaced || !task.lock->is_ours() ||
                        !insert_entry(*impl_->database, id, task.next_entry, entry, durable);
    if (task.is_displaced) return displaced(id);
    ++own->second.next_entry;
    return {};
  });
}

bool SqliteTaskStore::was_displaced(const std::string& id) const {
  const std::lock_guard turn(impl_->mutex);
  const auto own = impl_->own_tasks.find(id);
  return own != impl_->own_tasks.end() && own->second.is_displaced;
}

Result<bool> SqliteTaskStore::find_displaced(const std::string& id) {
  const std::lock_guard turn(impl_->mutex);
  const auto own = impl_->own_tasks.find(id);
  if (own == impl_->own_tasks.end()) return not_ours(id);
  return impl_->find_displaced(id, own->second);
}

std::function<bool()> SqliteTaskStore::own_mark(const std::string& id) const {
  const std::lock_guard turn(impl_->mutex);
  const auto own = impl_->own_tasks.find(id);
  std::weak_ptr<LauncherLock> mark;
  if (own != impl_->own_tasks.end()) mark = own->second.lock;
  return [mark] {
    const auto lock = mark.lock();
    return !lock || lock->is_ours();
  };
}

Result<std::vector<std::string>> SqliteTaskStore::read_journal(const std::string& id) {
  const std::lock_guard turn(impl_->mutex);
  return impl_->guarded([&]() -> Result<std::vector<std::string>> {
    return read_entries(*impl_->database, id, most_journal_entries);
  });
}

Result<void> SqliteTaskStore::Impl::write(const TaskRecord& task) {
  return guarded([&]() -> Result<void> {
    if (!update_task(*database, task, unix_time_ms()))
      return fail(
          ErrorClass::no_input,
          fmt::format("task '{}' is no longer in the task registry '{}'", task.id, registry()),
          "somebody replaced or emptied it while the task ran");
    return {};
  });
}

void SqliteTaskStore::note_alive(const std::string& id) {
  const std::lock_guard turn(impl_->mutex);
  const auto own = impl_->own_tasks.find(id);
  if (own == impl_->own_tasks.end() || !impl_->check_ours(id, own->second)) return;
  own->second.lock->touch();
}

Result<TaskRecord> SqliteTaskStore::find(const std::string& prefix) {
  const std::lock_guard turn(impl_->mutex);
  if (prefix.empty())
    return fail(ErrorClass::no_input, "an empty word names no task",
                "'train task list --all' shows all tasks");
  return impl_->guarded([&]() -> Result<TaskRecord> {
    const auto ids = ids_with_prefix(*impl_->database, prefix, 6);
    const bool is_exact = !ids.empty() && ids.front() == prefix;
    if (ids.size() != 1 && !is_exact)
      return tl::make_unexpected(impl_->none_or_several(prefix, ids));
    auto task = read_task(*impl_->database, ids.front());
    if (!task) return tl::make_unexpected(impl_->none_or_several(prefix, {}));
    return impl_->with_actual_state(std::move(*task));
  });
}

Result<std::vector<TaskRecord>> SqliteTaskStore::list(bool all) {
  const std::lock_guard turn(impl_->mutex);
  return impl_->guarded([&]() -> Result<std::vector<TaskRecord>> {
    std::vector<TaskRecord> tasks;
    for (TaskRecord& task : read_tasks(*impl_->database, all)) {
      task = impl_->with_actual_state(std::move(task));
      if (all || !is_final(task.state)) tasks.push_back(std::move(task));
    }
    return tasks;
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
  return fail(ErrorClass::no_input,
              fmt::format("'{}' cannot be read, or an earlier train launched it", path));
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

std::string SqliteTaskStore::launcher_log(const std::string& id) const {
  return impl_->directory(id) + "/launcher.log";
}

std::string SqliteTaskStore::control_socket(const std::string& id) const {
  return impl_->directory(id) + "/control";
}

std::string SqliteTaskStore::hosts_file(const std::string& id) const {
  return impl_->directory(id) + "/hosts.yaml";
}

std::string SqliteTaskStore::unsettled_file(const std::string& id) const {
  return impl_->directory(id) + "/unsettled.json";
}

std::string SqliteTaskStore::log_directory(const std::string& id) const {
  return impl_->log_directory(id);
}

}  // namespace train
