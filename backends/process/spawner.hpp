// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <optional>

#include "backends/process/file_calls.hpp"
#include "launcher/ports/process_spawner.hpp"

namespace train {

/// Starts worker processes of this machine. Each gets a session of its own, /dev/null as standard
/// input, pipes (of 256 KiB where the host allows it) as standard output and error, exactly the
/// given environment, default signals and no other descriptor; it is killed when the thread that
/// spawned it ends: call from one thread only, which lives as long as they may. Kernels before 5.3
/// are refused.
class LinuxSpawner final : public ProcessSpawner {
 public:
  /// The children get `open_files` as their limit of descriptors; without it, this process's. What
  /// may take long is noted in `calls`, which outlives this.
  explicit LinuxSpawner(std::optional<rlimit> open_files = {}, FileCalls* calls = nullptr)
      : open_files_(open_files), calls_(calls) {}

  Result<SpawnedProcess> spawn(const ProcessSpec& spec) override;
  /// Children start in this cgroup from now on: an open directory that must stay so; -1: in ours.
  void start_in(int cgroup) { cgroup_ = cgroup; }

 private:
  std::optional<rlimit> open_files_;
  FileCalls* calls_;
  int cgroup_ = -1;
  bool joins_cgroup_ = false;  ///< children could not start inside of it
};

}  // namespace train
