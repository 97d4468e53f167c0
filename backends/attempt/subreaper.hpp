// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/attempt/subreaper_process.hpp"
#include "backends/attempt/subreaper_talk.hpp"
#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"
#include "backends/process/process_tree.hpp"
#include "backends/process/spawner.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Processes that the attempts before have left with nothing below them, for those that come: to
/// make one takes longer than to start a rank in it. They die with this thread. The loop's.
class IdleSubreapers {
 public:
  explicit IdleSubreapers(Loop& loop) : loop_(loop) {}

  void add(SubreaperProcess process);
  /// One that lives, if there is any.
  std::optional<SubreaperProcess> take();

 private:
  struct Idle {
    SubreaperProcess process;
    std::unique_ptr<Subscription> ended;
  };
  void collect(pid_t process);

  Loop& loop_;
  std::vector<Idle> idle_;
};

/// A process of this agent whose children the ranks of one attempt are, and which adopts all
/// orphans among their descendants: so everything that the attempt has started is below it, and
/// nothing else is. It collects the ranks when they end, and kills all that is below it when it is
/// told to. It shares no memory with the agent: somebody may kill it at any moment. Then its ranks
/// die with it (PDEATHSIG), and what they leave becomes the agent's and is killed by that.
class Subreaper {
 public:
  struct Events {
    /// A rank has ended, at `status.at`; what it has printed may still be in its pipes.
    std::function<void(int pid, const ExitStatus& status)> on_end;
    /// Everything below is gone, but for the survivors; no rank ends any more. Comes once: after
    /// `kill`, or because the process was killed.
    std::function<void(std::vector<Survivor> survivors)> on_gone;
  };

  /// Events come from the loop. The process is one of `idle`, where there is one, and goes back
  /// there.
  Subreaper(Loop& loop, IdleSubreapers& idle, Events events);
  /// What is still below is killed.
  ~Subreaper();
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;

  /// Makes or takes the process, which dies with this thread. Class `host` when there can be none.
  /// Once.
  Result<void> start();
  /// Makes ranks: children of the process. For one thread beside the loop, since a call takes as
  /// long as the file systems that it needs. The events of the end of a rank may come before the
  /// call has returned. It may be used for longer than this lives.
  StartChild child_start() const;

  /// Signals the process group of a rank, unless that has been collected.
  void signal_rank(int pid, int signal);
  /// KILL to everything below, again and again until nothing is left; gives up after 10 s. Goes on
  /// where somebody has stopped the process.
  void kill();
  /// Kills the process itself, which does not answer.
  void kill_process();
  /// The process was killed, or never answers again for another reason.
  bool was_killed() const { return was_killed_; }
  /// How it ended, where it did so before it was told to: "was killed by SIGKILL", "is out of
  /// memory".
  const std::string& how_it_ended() const { return how_it_ended_; }

 private:
  struct Starts;
  void say(const SubreaperCommand& command);
  void hear();
  void all_gone();
  void give_back();
  void process_ended();
  void clean_up();

  Loop& loop_;
  IdleSubreapers& idle_;
  Events events_;
  const std::shared_ptr<Starts> starts_;
  pid_t process_ = -1;  ///< -1: not yet, or not any more
  Descriptor pidfd_;
  std::optional<SubreaperTalk> talk_;
  std::unique_ptr<Subscription> heard_;
  std::unique_ptr<Subscription> sendable_;
  std::unique_ptr<Subscription> ended_;
  std::unique_ptr<Subscription> retry_;
  std::vector<Survivor> survivors_;
  bool is_killing_ = false;
  bool is_gone_ = false;  ///< on_gone was told
  bool was_killed_ = false;
  std::string how_it_ended_ = "was killed";
  Background cleaning_;
};

/// The words of `Subreaper::how_it_ended` about such a status.
std::string words_of_subreaper_end(const ExitStatus& status);

}  // namespace train
