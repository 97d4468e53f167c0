// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/event_loop/limited_work.hpp"
#include "backends/observe/memory_kills.hpp"
#include "backends/posix/child.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// A rank that has failed.
struct EndedRank {
  int pid = 0;
  ExitStatus status;
  bool was_killed_here = false;  ///< by train, with the rest of its attempt
  std::string error_file;        ///< its path
  std::string working_directory;
  std::string checkpoints = {};  ///< a folder that is searched for a new file; empty: none is
  std::optional<nanoseconds> newest_checkpoint = {};  ///< there before the ranks started
};

/// What was found out about its end, besides the status.
struct FoundAtEnd {
  std::string error_file;  ///< at most 64 KiB of it
  std::optional<message::MemoryKill> memory_kill;
  std::string core;                             ///< as in message::RankEnded
  std::optional<bool> has_new_checkpoint = {};  ///< likewise
};

/// Examines, beside the loop, what failed ranks have left: they may have put anything there, even a
/// link to a file system that does not answer. What is not found within two seconds counts as
/// missing.
class EndInquiry {
 public:
  explicit EndInquiry(Loop& loop)
      : memory_kills_(loop), cores_(loop), error_files_(loop), checkpoints_(loop) {}

  /// Sets the counts of memory kills from before the ranks start. Without it, no memory kills are
  /// reported.
  void count_from(std::shared_ptr<MemoryKills> kills) { kills_ = std::move(kills); }
  /// Calls `done` from the loop, once.
  void look(const EndedRank& rank, std::function<void(FoundAtEnd)> done);

 private:
  /// A thread of its own: what hangs on one holds up no other.
  class Thread {
   public:
    explicit Thread(Loop& loop)
        : work_(loop, Background::Idle::stays, LimitedWork::BehindLate::waits) {}
    void run(std::function<void()> work, std::function<void(bool is_done)> done);

   private:
    LimitedWork work_;
  };
  struct Look;
  void look_for_core(const std::shared_ptr<Look>& look);
  void read_error_file(const std::shared_ptr<Look>& look);
  void look_for_checkpoint(const std::shared_ptr<Look>& look);

  Thread memory_kills_;
  Thread cores_;
  Thread error_files_;
  Thread checkpoints_;
  std::shared_ptr<MemoryKills> kills_;  ///< used by the thread of `memory_kills_` only
};

}  // namespace train
