// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "backends/store/sqlite_task_store.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

namespace train {

inline std::unique_ptr<SqliteTaskStore> open_store(const std::string& root) {
  auto store = SqliteTaskStore::open(root);
  if (!store) FAIL(render(store.error()));
  return std::move(*store);
}

inline void run_sql(const std::string& database, const char* sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(database.c_str(), &handle) == SQLITE_OK);
  const int code = sqlite3_exec(handle, sql, nullptr, nullptr, nullptr);
  sqlite3_close(handle);
  REQUIRE(code == SQLITE_OK);
}

inline TaskRecord some_task(const SqliteTaskStore& store, const std::string& id,
                            UnixMillis created = 1) {
  TaskRecord task;
  task.id = id;
  task.name = "digits";
  task.slots = "0.5";
  task.hosts = "gpu-a,gpu-b";
  task.world_size = 2;
  task.user = "ada";
  task.created = created;
  task.config_text = "entrypoint: true\n";
  task.plan_json = "{}\n";
  task.working_directory = "/home/ada";
  task.log_directory = store.log_directory(id);
  task.launcher_pid = getpid();
  task.stop_notice_ms = 1'500;
  task.stop_grace_ms = 2'500;
  task.log_limit = std::uint64_t{1} << 40;
  return task;
}

/// Runs `work` in a child process; true when it returned true.
inline bool in_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A child process that runs `work`, says so, and then stays until it is killed.
class Lingering {
 public:
  explicit Lingering(const std::function<bool()>& work) {
    int said[2];
    REQUIRE(pipe(said) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      close(said[0]);
      const bool well = work();
      if (!well || write(said[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(said[1]);
    char byte = 0;
    const bool well = read(said[0], &byte, 1) == 1;
    close(said[0]);
    REQUIRE(well);
  }
  ~Lingering() { kill(); }
  Lingering(const Lingering&) = delete;
  Lingering& operator=(const Lingering&) = delete;

  pid_t pid() const { return pid_; }
  /// Ends it as `kill -9` does and waits for its end.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

}  // namespace train
