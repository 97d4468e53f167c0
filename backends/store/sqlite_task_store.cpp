// SPDX-License-Identifier: Apache-2.0
#include "backends/store/sqlite_task_store.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/registry/journal_rows.hpp"
#include "backends/registry/private_directory.hpp"
#include "backends/registry/task_rows.hpp"
#include "backends/store/store_state.hpp"
#include "backends/store/task_bundle.hpp"
#include "backends/store/task_end_file.hpp"
#include "backends/store/task_reader.hpp"
#include "launcher/journal/journal_entry.hpp"

namespace train {
namespace {

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

Result<TaskLock> SqliteTaskStore::Impl::make_directories(const std::string& id, std::size_t ranks) {
  if (auto made = make_private_directory(root + "/tasks"); !made)
    return tl::make_unexpected(std::move(made.error()));
  if (mkdir(directory(id).c_str(), 0700) != 0 && errno == EEXIST) return taken(id);
  auto made = make_private_directory(directory(id));
  if (made) made = make_private_directory(log_directory(id));
  if (made) made = reserve_task_end(end_file(id), ranks);
  auto lock = made ? TaskLock::create(lock_file(id))
                   : Result<TaskLock>(tl::make_unexpected(std::move(made.error())));
  if (!lock) remove_directories(id);
  return lock;
}

/// Undoes `make_directories`; other files in the folders stay.
void SqliteTaskStore::Impl::remove_directories(const std::string& id) const {
  unlink(lock_file(id).c_str());
  unlink(end_file(id).c_str());
  rmdir(log_directory(id).c_str());
  rmdir(directory(id).c_str());
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
  // The lock is taken first, so that no process finds a record whose launcher seems to be dead.
  auto lock = impl_->make_directories(task.id, task.ranks.size());
  if (!lock) return tl::make_unexpected(std::move(lock.error()));
  auto created = impl_->guarded([&]() -> Result<void> {
    if (!insert_task(*impl_->database, task, unix_time_ms())) return taken(task.id);
    return {};
  });
  if (created)
    impl_->own_tasks.emplace(task.id,
                             OwnTask{std::make_shared<TaskLock>(std::move(*lock)), task.state, 0});
  else
    impl_->remove_directories(task.id);
  return created;
}

Result<void> SqliteTaskStore::start_over(const TaskRecord& task) {
  const std::lock_guard turn(impl_->mutex);
  const auto own = impl_->own_tasks.find(task.id);
  if (own == impl_->own_tasks.end()) return not_ours(task.id);
  if (auto ours = impl_->check_ownership(task.id, own->second); !ours) return ours;
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

Result<void> SqliteTaskStore::move(const TaskRecord& task) {
  {
    const std::lock_guard turn(impl_->mutex);
    if (!impl_->own_tasks.contains(task.id)) return not_ours(task.id);
    auto moved = impl_->guarded([&]() -> Result<void> {
      if (move_task(*impl_->database, task)) return {};
      return fail(ErrorClass::no_input, fmt::format("there is no task '{}' any more", task.id));
    });
    if (!moved) return moved;
  }
  return update(task);
}

Result<void> SqliteTaskStore::update(const TaskRecord& task) {
  const std::lock_guard turn(impl_->mutex);
  const auto own = impl_->own_tasks.find(task.id);
  if (own == impl_->own_tasks.end()) return not_ours(task.id);
  if (task.state != own->second.state && !is_legal_change(own->second.state, task.state))
    return fail(ErrorClass::bug, fmt::format("task '{}' cannot go from {} to {}", task.id,
                                             to_string(own->second.state), to_string(task.state)));
  if (auto ours = impl_->check_ownership(task.id, own->second); !ours) return ours;
  own->second.lock->touch();
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
  // The bundle is removed before the lock is released: a process that waits for the lock then finds
  // no bundle.
  remove_bundle(impl_->directory(task.id), impl_->programs());
  impl_->own_tasks.erase(own);
  impl_->settle(task.id);
  return {};
}

/// Fails if another process has adopted the task or written into its journal. A registry that is
/// locked at this moment is not an error here: the next call waits for it and reports it.
Result<void> SqliteTaskStore::Impl::check_ownership(const std::string& id, OwnTask& own) {
  database->setBusyTimeout(0);
  (void)find_displaced(id, own);
  database->setBusyTimeout(registry_wait_ms);
  if (own.is_displaced) return displaced(id);
  return {};
}

Result<bool> SqliteTaskStore::Impl::find_displaced(const std::string& id, OwnTask& own) {
  own.is_displaced = own.is_displaced || !own.lock->is_owner();
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
  // The record is read under the lock: the previous holder may have ended the task.
  auto lock = TaskLock::adopt(impl_->lock_file(id));
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
    lock->touch();
    const std::int64_t next = next_entry(*impl_->database, id);
    impl_->own_tasks.emplace(
        id, OwnTask{std::make_shared<TaskLock>(std::move(*lock)), task->state, next});
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
    task.is_displaced = task.is_displaced || !task.lock->is_owner() ||
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
  std::weak_ptr<TaskLock> mark;
  if (own != impl_->own_tasks.end()) mark = own->second.lock;
  return [mark] {
    const auto lock = mark.lock();
    return !lock || lock->is_owner();
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
  if (own == impl_->own_tasks.end() || !impl_->check_ownership(id, own->second)) return;
  own->second.lock->touch();
}

}  // namespace train
