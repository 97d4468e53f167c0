// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "launcher/ports/process_spawner.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// A running rank: its process, which a `Subreaper` reaps, and its two pipes.
class Worker {
 public:
  struct Events {
    std::function<void(OutputStream, std::string_view)> on_output;
    std::function<void(const ExitStatus&)> on_end;  ///< called by `end`, after the last output
  };

  Worker(Loop& loop, const SpawnedProcess& process, Events events);

  int pid() const { return pid_; }
  bool ended() const { return ended_; }
  /// The pipes are not read while paused: a rank that prints more than they hold blocks.
  void pause_reading();
  void resume_reading();
  /// Reads what is in the pipes now (1 MiB of each at most), even while paused.
  void drain();
  /// Drains the pipes, then closes them: processes that still print there get SIGPIPE.
  void close_pipes();
  /// Call it when the process has ended.
  void end(const ExitStatus& status);

 private:
  struct Source {
    Descriptor fd;
    OutputStream stream;
    std::unique_ptr<Subscription> readable;
  };
  void watch(Source& source);
  /// Reads at most `limit` bytes; false once nothing is left for now.
  bool read(Source& source, std::size_t limit);

  Loop& loop_;
  int pid_;
  Source sources_[2];
  Events events_;
  bool ended_ = false;
  bool paused_ = false;
};

}  // namespace train
