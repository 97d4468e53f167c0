// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/registry/registry.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "backends/store/task_lock.hpp"

namespace train {

/// A task that this process launches.
struct OwnTask {
  std::shared_ptr<TaskLock> lock;
  TaskState state;
  std::int64_t next_entry = 0;  ///< number of the next entry of its journal
  bool is_displaced = false;    ///< another process has adopted it
};

/// The state of a store. The functions for the tasks of this process are in
/// `sqlite_task_store.cpp`, those for all recorded tasks in `recorded_tasks.cpp`.
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

  /// Turns exceptions of SQLite into errors. Other functions here let them pass.
  template <class Work>
  auto guarded(Work&& work) -> decltype(work()) {
    try {
      return work();
    } catch (const std::exception& exception) {
      return tl::make_unexpected(registry_error(registry(), exception));
    }
  }

  Result<TaskLock> make_directories(const std::string& id, std::size_t ranks);
  void remove_directories(const std::string& id) const;
  TaskRecord with_actual_state(TaskRecord task);
  Result<void> write(const TaskRecord& task);
  Result<void> check_ownership(const std::string& id, OwnTask& own);
  Result<bool> find_displaced(const std::string& id, OwnTask& own);
  void settle(const std::string& id);
  std::string hint_for_unknown(const std::string& word) const;
  Error none_or_several(const std::string& prefix, const std::vector<std::string>& ids);
  Result<std::string> id_of(const std::string& prefix);
  std::string step_after_damage(const std::string& id) const;
};

}  // namespace train
