// SPDX-License-Identifier: Apache-2.0
// What the driver of an agent does with ranks: start them, tell how they end, stop and kill them.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "backends/process/agent_driver.hpp"
#include "backends/process/process_tree.hpp"

#include "backends/posix/child.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds kill_limit{5};

}  // namespace

RankStarter::Events AgentDriver::starter_events() {
  return {[this](int rank) { return agent_.command_of(rank); },
          [this](int rank, const SpawnedProcess& process) { rank_started(rank, process); },
          [this](int rank, const Error& why) { rank_not_started(rank, why); },
          [this] {
            collect_orphans();
            finish_kill_soon();
          }};
}

void AgentDriver::perform(const agent_action::StartRank& action) {
  starter_.start(action.rank);
  tell_blocked();
}

void AgentDriver::rank_started(int rank, const SpawnedProcess& process) {
  // It was being started when everything else was killed.
  if (killing_ || is_tree_gone_) signal_group(process.pid, SIGKILL);
  Worker::Events events;
  events.on_output = [this, rank](OutputStream stream, std::string_view bytes) {
    feed(agent_event::RankPrinted{rank, stream, bytes});
  };
  events.on_end = [this, rank](const ExitStatus& status) { rank_ended(rank, status); };
  workers_[rank] = std::make_unique<Worker>(loop_, process, std::move(events));
  if (is_reading_paused_) workers_[rank]->pause_reading();
  feed_soon(agent_event::RankStarted{rank, process.pid});
  collect_orphans();
}

void AgentDriver::rank_not_started(int rank, const Error& why) {
  feed_soon(agent_event::RankNotStarted{rank, in_one_line(why), why.error_class});
  collect_orphans();
  finish_kill_soon();
}

// For a rank that failed, its error file is read first, and it is looked whether another user has
// taken a port of the task: the launcher hears of that before it hears of the end.
void AgentDriver::rank_ended(int rank, const ExitStatus& status) {
  agent_event::RankEnded end{rank, status.code, status.signal, status.dumped_core, status.at, {}};
  ++ends_pending_;
  // Posted, because the message that the rank was started may be posted too, and must come first.
  if (status.code == 0 || is_tree_gone_) return loop_.post([this, end] { tell_end(end); });
  const std::string path = fmt::format("{}/error-{}.json", run_directory_, rank);
  error_files_.read(path, [this, end](std::string text) mutable {
    end.error_file = std::move(text);
    if (!port_watch_) return tell_end(end);
    port_watch_->look([this, end] { tell_end(end); });
  });
}

void AgentDriver::tell_end(const agent_event::RankEnded& end) {
  --ends_pending_;
  feed(end);
  finish_kill_soon();
}

// While a rank is being started, its process is not known by its number yet and must not be
// collected as an orphan.
void AgentDriver::collect_orphans() {
  if (!orphans_ || !are_orphans_due_ || starter_.is_starting()) return;
  are_orphans_due_ = false;
  // A rank that has ended is collected as a rank, which lets `ended_child` show the next child
  // behind it.
  for (int last = 0, pid = ended_child(); pid != 0 && pid != last; pid = ended_child()) {
    last = pid;
    const auto rank = std::find_if(workers_.begin(), workers_.end(), [pid](const auto& entry) {
      return entry.second->pid() == pid && !entry.second->ended();
    });
    if (rank == workers_.end())
      reap_orphan(pid);
    else
      rank->second->collect();
  }
}

void AgentDriver::perform(const agent_action::TerminateRank& action) {
  const auto worker = workers_.find(action.rank);
  if (worker != workers_.end() && !worker->second->ended())
    signal_group(worker->second->pid(), SIGTERM);
}

bool AgentDriver::any_worker_alive() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& entry) { return !entry.second->ended(); });
}

// First everything gets the signal, then the ends of the ranks are collected as usual, and last
// whatever their deaths have left to this subreaper is killed.
void AgentDriver::perform(const agent_action::KillTree&) {
  starter_.tell();
  killing_ = true;
  starter_.forget_waiting();
  kill_descendants({}, SIGKILL);
  // A worker may be stuck in the kernel (a dead NFS server, a sick driver).
  kill_timer_ = loop_.after(kill_limit, [this] { finish_kill(); });
  finish_kill_soon();
}

void AgentDriver::finish_kill_soon() {
  if (!killing_ || any_worker_alive() || ends_pending_ > 0 || starter_.is_starting()) return;
  loop_.post([this] { finish_kill(); });
}

void AgentDriver::finish_kill() {
  if (!std::exchange(killing_, false)) return;
  is_tree_gone_ = true;
  kill_timer_.reset();
  orphans_.reset();
  agent_event::TreeKilled killed;
  for (const Survivor& survivor : kill_all_descendants(kill_limit))
    killed.survivors.push_back({survivor.pid, survivor.uid, survivor.command});
  for (const auto& [rank, worker] : workers_) {
    worker->collect();  // one that took longer than the limit may just have ended
    worker->drain();
  }
  feed_soon(std::move(killed));
}

void AgentDriver::perform(const agent_action::PauseReading&) {
  is_reading_paused_ = true;
  for (const auto& [rank, worker] : workers_) worker->pause_reading();
}

void AgentDriver::perform(const agent_action::ResumeReading&) {
  is_reading_paused_ = false;
  for (const auto& [rank, worker] : workers_) worker->resume_reading();
}

}  // namespace train
