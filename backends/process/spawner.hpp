// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/ports/process_spawner.hpp"

namespace train {

/// Starts worker processes of this machine. Each gets a session of its own, /dev/null as standard
/// input, pipes (of 1 MiB where the host allows it) as standard output and error, exactly the given
/// environment, default signals and no other descriptor; it is killed when the thread that spawned
/// it ends. Call from one thread only, the agent's main thread. Kernels before 5.3 are refused.
class LinuxSpawner final : public ProcessSpawner {
 public:
  Result<SpawnedProcess> spawn(const ProcessSpec& spec) override;
};

}  // namespace train
