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

/// A running rank: its process, which a `Subreaper` collects, and its two pipes.
class Worker {
 public:
  struct Events {
    std::function<void(OutputStream, std::string_view)> on_output;
    std::function<void(const ExitStatus&)> on_end;  ///< from `end`, after all that it had printed
  };

  Worker(Loop& loop, const SpawnedProcess& process, Events events);

  int pid() const { return pid_; }
  bool ended() const { return ended_; }
  /// The pipes are not read while paused: a rank that prints more than they hold then waits.
  void pause_reading();
  void resume_reading();
  /// Reads what is in the pipes now, paused or not.
  void drain();
  /// Reads what is in the pipes now, and no more: who prints there from now on hears so (SIGPIPE).
  void close_pipes();
  /// The process has ended.
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
