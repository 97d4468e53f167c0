// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <functional>
#include <optional>
#include <utility>

#include "backends/posix/child.hpp"
#include "backends/process/file_calls.hpp"
#include "launcher/ports/process_spawner.hpp"

namespace train {

/// A process to start, and the starter's descriptors and limits for it; all are only borrowed.
struct ChildRequest {
  const ProcessSpec& spec;
  int output = -1;                     ///< becomes its standard output
  int errors = -1;                     ///< becomes its standard error
  const rlimit* open_files = nullptr;  ///< as ChildSetup::open_files
  int cgroup = -1;                     ///< as ChildSetup::cgroup
  bool joins_cgroup = false;           ///< as ChildSetup::joins_cgroup
};

/// The result of a start, and an instant at which the process existed.
struct ChildAnswer {
  StartedChild child;
  Instant there_at{0};
};
/// Starts a process. An error when the start could not even be tried.
using StartChild = std::function<Result<ChildAnswer>(const ChildRequest&)>;

/// Starts it as a child of this process.
Result<ChildAnswer> start_as_child(const ChildRequest& request);

/// Starts worker processes of this machine. Each gets a session of its own, /dev/null as standard
/// input, pipes (of 256 KiB where the host allows it) as standard output and error, exactly the
/// given environment, default signals and no other descriptor. It is killed when the thread that
/// started it ends: with `start_as_child`, call from one thread only, which must live as long as
/// the workers. Kernels before 5.3 are refused.
class LinuxSpawner final : public ProcessSpawner {
 public:
  /// The children get `open_files` as their limit of open files; without it, this process's. Slow
  /// calls are noted in `calls`, which must outlive this. `start` starts the processes.
  explicit LinuxSpawner(std::optional<rlimit> open_files = {}, FileCalls* calls = nullptr,
                        StartChild start = start_as_child)
      : open_files_(open_files), calls_(calls), start_(std::move(start)) {}

  Result<SpawnedProcess> spawn(const ProcessSpec& spec) override;
  /// Children start in this cgroup from now on: a directory that must stay open; -1: in ours.
  void start_in(int cgroup) { cgroup_ = cgroup; }

 private:
  std::optional<rlimit> open_files_;
  FileCalls* calls_;
  const StartChild start_;
  int cgroup_ = -1;
  bool joins_cgroup_ = false;  ///< children cannot start inside the cgroup, so they join it
};

}  // namespace train
