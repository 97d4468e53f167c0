// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/process/agent_process.hpp"
#include "backends/process/error_files.hpp"
#include "backends/process/host_check.hpp"
#include "backends/process/launcher_links.hpp"
#include "backends/process/port_watch.hpp"
#include "backends/process/rank_starter.hpp"
#include "backends/process/worker.hpp"
#include "launcher/agent/agent.hpp"

namespace train {

/// Carries out what `Agent` decides, and tells it what happens. Never blocks: what may take long is
/// done on a thread beside the loop, and comes back as an event.
class AgentDriver {
 public:
  AgentDriver(int listening_socket, const HostDirectory& directory, std::string key,
              const AgentMeans& means);

  /// Until the agent leaves. Returns the exit code of the process.
  int run();

 private:
  int run_to_the_end();
  RankStarter::Events starter_events();
  bool received(LinkId link, const Frame& frame);
  void feed(const AgentEvent& event);
  void perform(const agent_action::UseLink& action);
  void perform(const agent_action::CloseLink& action);
  void perform(const agent_action::SetFence& action);
  void perform(const agent_action::SendMessage& action);
  void perform(const agent_action::SendOutput& action);
  void perform(const agent_action::FindContext& action);
  void perform(const agent_action::TakeContext& action);
  void perform(const agent_action::CheckHost& action);
  void perform(const agent_action::StartRank& action);
  void perform(const agent_action::ReleasePorts& action);
  void perform(const agent_action::TerminateRank& action);
  void perform(const agent_action::KillTree& action);
  void perform(const agent_action::PauseReading& action);
  void perform(const agent_action::ResumeReading& action);
  void perform(const agent_action::Leave& action);

  void feed_soon(AgentEvent event);
  void checked(CheckedHost& host);
  void tell_blocked();
  void rank_started(int rank, const SpawnedProcess& process);
  void rank_not_started(int rank, const Error& why);
  void rank_ended(int rank, const ExitStatus& status);
  void tell_end(const agent_event::RankEnded& end);
  void collect_orphans();
  void finish_kill_soon();
  void finish_kill();
  bool any_worker_alive() const;
  void arm_timer();

  const HostDirectory& directory_;
  std::string key_;
  const AgentMeans means_;
  Loop loop_;
  std::unique_ptr<ContextStore> contexts_;
  Agent agent_;
  const std::shared_ptr<FileCalls> calls_ = std::make_shared<FileCalls>();
  Background work_;  ///< checks, then starts
  ErrorFiles error_files_;
  RankStarter starter_;
  std::vector<PortHold> ports_;
  std::optional<PortWatch> port_watch_;
  std::string run_directory_;
  std::string failure_;                             ///< what was thrown, if anything was
  std::map<int, std::unique_ptr<Worker>> workers_;  ///< by rank
  LauncherLinks links_;
  std::unique_ptr<Subscription> signals_;
  std::unique_ptr<Subscription> orphans_;
  std::unique_ptr<Subscription> nobody_came_;
  std::unique_ptr<Subscription> timer_;
  std::unique_ptr<Subscription> kill_timer_;
  std::unique_ptr<Subscription> blocked_timer_;
  std::unique_ptr<Subscription> housekeeping_;
  /// Given back when memory runs out, so that there is some to say so.
  std::unique_ptr<char[]> memory_reserve_ = std::make_unique_for_overwrite<char[]>(256u << 10);
  bool is_checking_ = false;
  bool are_orphans_due_ = false;  ///< children have ended while a rank was being started
  bool is_reading_paused_ = false;
  int ends_pending_ = 0;  ///< how many ranks have ended and the launcher does not know yet
  bool killing_ = false;
  bool is_tree_gone_ = false;
};

}  // namespace train
