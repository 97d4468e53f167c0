// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/lease/kept_descriptors.hpp"
#include "backends/lease/task_leases.hpp"
#include "backends/process/agent_means.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// The leases that the trials of an agent's task hold on its host, kept across their attempts,
/// until agent and guard have ended. The functions may be called from any thread and may wait for a
/// disk.
class AgentLeases {
 public:
  /// As in message::Leases: empty when all leases are held.
  using Blockers = std::vector<LeaseHolder>;

  AgentLeases(std::string key, const AgentMeans& means);

  /// Tries to take all leases that the attempt's trial needs. Class `host`.
  Result<Blockers> take(const message::Prepare& prepare, const HostGpus& gpus);
  /// The same again, with the wants of the last `take` of this trial.
  Result<Blockers> retry_take(int trial);
  void drop(int trial);
  /// The same, for good: no attempt of the trial follows.
  void end(int trial);
  /// Drops all leases: nothing of the task is left here. If another thread is using the leases,
  /// does nothing: then they end with the processes.
  void drop_all();
  /// Notes in the holder file, for other users, that ranks were started.
  void confirm(int trial);
  /// The UUIDs of the NVIDIA GPUs that the trial holds as a whole, as far as they are known: all,
  /// or those on which ranks of the task were started before, or of another task until recently.
  std::vector<std::string> whole_gpus_of(int trial, bool all);
  void touch();

 private:
  struct OfTrial {
    std::unique_ptr<TaskLeases> leases;  ///< never null
    std::vector<LeaseWant> wants;
    std::optional<TicketOrder> order;
    std::string directory = {};
    std::string task = {};
    bool allow_busy = false;
    bool is_held = false;  ///< stays true across attempts
  };

  Result<Blockers> take(OfTrial& trial);
  Result<void> keep_in_guard(TaskLeases& leases);
  Blockers foreign_users_of(const OfTrial& trial) const;
  Result<TaskLeases*> leases_of(int trial, const message::Prepare& prepare);

  const std::string key_;
  const AgentMeans means_;
  KeptDescriptors in_guard_;
  std::mutex mutex_;
  std::map<int, OfTrial> trials_;
  std::set<std::string> used_gpus_;  ///< UUIDs; ranks were started on them
};

}  // namespace train
