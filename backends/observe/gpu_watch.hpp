// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/process/agent_means.hpp"
#include "launcher/agent/gpu_use.hpp"
#include "launcher/frames/line_buffer.hpp"

namespace train {

/// Knows what the NVIDIA GPUs of this host do while somebody wants to know. A process beside the
/// loop asks the driver, which may take seconds, hang or crash: then the use of the GPUs is not
/// known, and nothing else happens. One process serves all attempts of an agent.
class GpuWatch {
 public:
  /// The process and what it has written. The last owner kills it, without waiting for its end: one
  /// that hangs in the kernel is left.
  class Reader {
   public:
    Reader(GpuWatch& watch, ConnectedProcess process);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// Empty: not known, or not any more.
    std::vector<GpuUse> uses() const;
    /// Whether the process is there.
    bool is_open() const { return static_cast<bool>(process_.stream); }

   private:
    void read();
    void drop_errors();
    void close();

    GpuWatch& watch_;
    ConnectedProcess process_;
    LineBuffer lines_;
    std::vector<GpuUse> uses_;
    Instant at_{0};  ///< when they were written
    std::unique_ptr<Subscription> readable_;
    std::unique_ptr<Subscription> errors_readable_;
  };

  /// Must outlive its readers. `oldest_use`: of a driver that hangs longer, the last values are
  /// not those of now.
  GpuWatch(Loop& loop, StartGpuWatch start, nanoseconds oldest_use = 4 * between_lines)
      : loop_(loop), start_(std::move(start)), oldest_use_(oldest_use) {}

  /// Null: there are no GPUs, or the process cannot be started.
  std::shared_ptr<const Reader> reader();

 private:
  struct Process {
    Descriptor pidfd;
    std::unique_ptr<Subscription> ended;
  };
  void own(pid_t pid, Descriptor pidfd);
  void kill(pid_t pid) const;

  static constexpr std::chrono::seconds between_lines{5};

  Loop& loop_;
  StartGpuWatch start_;
  const nanoseconds oldest_use_;
  std::weak_ptr<const Reader> reader_;
  std::map<pid_t, Process> processes_;  ///< that are not reaped yet
};

}  // namespace train
