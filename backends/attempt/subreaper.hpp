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

/// Subreaper processes of earlier attempts that have nothing below them any more, kept for later
/// attempts: making one takes longer than starting a rank in it. They die with this thread. To be
/// used on the loop only.
class IdleSubreapers {
 public:
  explicit IdleSubreapers(Loop& loop) : loop_(loop) {}

  void add(SubreaperProcess process);
  /// A live one, if there is any.
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

/// A process of this agent that is the parent of the ranks of one attempt and adopts all orphans
/// among their descendants: so everything that the attempt has started is below it, and nothing
/// else is. It reaps the ranks when they end, and kills everything below it on request. It shares
/// no memory with the agent, because it may be killed at any moment. Then its ranks die with it
/// (PDEATHSIG), and the processes they leave become the agent's children, which kills them.
class Subreaper {
 public:
  struct Events {
    /// A rank has ended, at `status.at`; its last output may still be in its pipes.
    std::function<void(int pid, const ExitStatus& status)> on_end;
    /// Everything below is gone, except the survivors; no `on_end` follows. Called once: after
    /// `kill`, or because the process was killed.
    std::function<void(std::vector<Survivor> survivors)> on_gone;
  };

  /// Events are called from the loop. The process is taken from `idle` if there is one, and
  /// returned to it afterwards.
  Subreaper(Loop& loop, IdleSubreapers& idle, Events events);
  /// Kills everything that is still below the process.
  ~Subreaper();
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;

  /// Makes the process, or takes an idle one. It dies with this thread. Class `host` when it cannot
  /// be made. Call it once.
  Result<void> start();
  /// A function that starts ranks, as children of the process. For one thread beside the loop,
  /// since a call takes as long as the file systems that it needs. `on_end` of a rank may come
  /// before the call has returned. The function may outlive this object.
  StartChild child_start() const;

  /// Signals the process group of a rank, unless the rank was reaped.
  void signal_rank(int pid, int signal);
  /// Sends SIGKILL to everything below, again and again until nothing is left; gives up after 10 s.
  /// Works even if the process was stopped (SIGSTOP).
  void kill();
  /// Kills the process itself, when it does not answer.
  void kill_process();
  /// The process was killed, or ended before `on_gone` for another reason.
  bool was_killed() const { return was_killed_; }
  /// How the process ended if it was not told to: "was killed by SIGKILL", "is out of memory".
  const std::string& how_it_ended() const { return how_it_ended_; }

 private:
  struct Starts;
  void send(const SubreaperCommand& command);
  void receive();
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
  std::unique_ptr<Subscription> readable_;
  std::unique_ptr<Subscription> sendable_;
  std::unique_ptr<Subscription> ended_;
  std::unique_ptr<Subscription> retry_;
  std::vector<Survivor> survivors_;
  bool is_killing_ = false;
  bool is_gone_ = false;  ///< on_gone was called
  bool was_killed_ = false;
  std::string how_it_ended_ = "was killed";
  Background cleaning_;
};

/// The text of `Subreaper::how_it_ended` for this status.
std::string words_of_subreaper_end(const ExitStatus& status);

}  // namespace train
