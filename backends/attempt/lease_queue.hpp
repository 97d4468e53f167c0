// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/attempt/agent_leases.hpp"
#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"

namespace train {

/// Runs the lease operations of an agent's task beside its loop, for all trials in the order in
/// which they were requested: what one trial has released before is free for the next.
class LeaseQueue {
 public:
  /// Called from the loop, never from inside a call.
  using Then = std::function<void(const Result<AgentLeases::Blockers>& blockers)>;

  LeaseQueue(Loop& loop, std::string key, const AgentMeans& means);

  // Like the functions of AgentLeases.
  void take(std::shared_ptr<const message::Prepare> prepare, HostGpus gpus, Then then);
  void retry_take(int trial, Then then);
  void drop(int trial) { change(&AgentLeases::drop, trial); }
  void end(int trial) { change(&AgentLeases::end, trial); }
  void confirm(int trial) { change(&AgentLeases::confirm, trial); }
  void touch();
  /// As AgentLeases::whole_gpus_of; may outlive this.
  std::function<std::vector<std::string>()> whole_gpus_of(int trial, bool all) const;
  /// Done at once, before queued operations.
  void drop_all() { leases_->drop_all(); }

 private:
  using Try = std::function<Result<AgentLeases::Blockers>(AgentLeases& leases)>;
  void try_to(Try attempt, Then then);
  using Change = void (AgentLeases::*)(int trial);
  void change(Change change_of, int trial);

  Loop& loop_;
  std::shared_ptr<AgentLeases> leases_;
  Background work_;
};

}  // namespace train
