// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backends/agent/agent_process.hpp"
#include "backends/agent/output_spool.hpp"
#include "backends/agent/supervisor_links.hpp"
#include "backends/attempt/attempt_driver.hpp"
#include "backends/attempt/lease_queue.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/agent/agent.hpp"
#include "launcher/ports/deadline_timer.hpp"

namespace train {

/// Carries out the actions that `Agent` decides, and feeds events back to it. Never blocks: slow
/// operations run on a thread beside the loop, and their results come back as events.
class AgentDriver {
 public:
  AgentDriver(int listening_socket, const HostDirectory& directory, const std::string& key,
              const AgentMeans& means);

  /// Runs until the agent leaves. Returns the exit code of the process.
  int run();

 private:
  int run_to_the_end();
  void told_to_end();
  bool received(LinkId link, const Frame& frame);
  void feed(const AgentEvent& event);
  void perform(const agent_action::UseLink& action);
  void perform(const agent_action::CloseLink& action);
  void perform(const agent_action::SetFence& action);
  void perform(const agent_action::SendMessage& action);
  void perform(const agent_action::SendOutput& action);
  void perform(const agent_action::Spool& action);
  void perform(const agent_action::FindContext& action);
  void perform(const agent_action::TakeContext& action);
  void perform(const agent_action::CheckHost& action);
  void perform(const agent_action::ProbeHosts& action);
  void perform(const agent_action::TakeLeases& action);
  void perform(const agent_action::DropLeases& action);
  void perform(const agent_action::EndLeases& action);
  void perform(const agent_action::ConfirmLeases& action);
  void perform(const agent_action::StartRank& action);
  void perform(const agent_action::ReleasePorts& action);
  void perform(const agent_action::WatchGpus& action);
  void perform(const agent_action::LookAtRanks& action);
  void perform(const agent_action::MakeStopFile& action);
  void perform(const agent_action::TerminateRank& action);
  void perform(const agent_action::KillTree& action);
  void perform(const agent_action::ForgetAttempt& action);
  void perform(const agent_action::PauseReading& action);
  void perform(const agent_action::ResumeReading& action);
  void perform(const agent_action::Leave& action);
  void keep_context();
  void touch_leases();
  AttemptDriver* find(AttemptId of) const;

  const AgentMeans means_;
  Loop loop_;
  std::unique_ptr<ContextStore> contexts_;
  Agent agent_;
  DeadlineTimer deadline_;
  LeaseQueue leases_;
  FileChanges changes_;
  IdleSubreapers subreapers_;
  GpuWatch gpus_;
  const AttemptSurroundings surroundings_;
  std::map<AttemptId, std::unique_ptr<AttemptDriver>> attempts_;
  OutputSpool spool_;
  std::string failure_;  ///< the reason of the first uncaught exception; empty: none
  SupervisorLinks links_;
  std::unique_ptr<Subscription> signals_;
  std::unique_ptr<Subscription> end_;  ///< a signal has told the agent to end, soon
  std::unique_ptr<Subscription> nobody_came_;
  std::unique_ptr<Subscription> housekeeping_;
  std::unique_ptr<Subscription> lease_timer_;
  /// Freed when memory runs out, so that there is enough to report it.
  std::unique_ptr<char[]> memory_reserve_ = std::make_unique_for_overwrite<char[]>(256u << 10);
};

}  // namespace train
