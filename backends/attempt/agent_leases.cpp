// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/agent_leases.hpp"

#include "backends/lease/lease_holders.hpp"
#include "backends/visits/host_inspection.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {

namespace {

bool is_known_gpu(const LeaseWant& want) {
  return want.key.kind == LeaseKey::Kind::cuda && !want.key.name.empty();
}

bool is_whole(const LeaseWant& want) { return want.amount == want.capacity; }

}  // namespace

AgentLeases::AgentLeases(std::string key, const AgentMeans& means)
    : key_(std::move(key)), means_(means), in_guard_(means.guard) {}

Result<TaskLeases*> AgentLeases::leases_of(int trial, const message::Prepare& prepare) {
  if (const auto known = trials_.find(trial); known != trials_.end())
    return known->second.leases.get();
  auto folder = lease_folder_of(means_, prepare.leases.directory);
  if (!folder) return tl::make_unexpected(folder.error());
  const std::string key = trial == 0 ? key_ : fmt::format("{}.{}", key_, trial);
  auto made = std::make_unique<TaskLeases>(
      std::move(*folder),
      TaskLeases::Words{key, prepare.task_id, prepare.leases.task_name, prepare.leases.launcher});
  return (trials_[trial].leases = std::move(made)).get();
}

Result<AgentLeases::Blockers> AgentLeases::take(const message::Prepare& prepare,
                                                const HostGpus& gpus) {
  if (prepare.leases.wants.empty()) return Blockers();
  const std::lock_guard lock(mutex_);
  if (auto made = leases_of(prepare.of.trial, prepare); !made) {
    if (!prepare.leases.order) return tl::make_unexpected(made.error());
    // Other users may have caused this: a trial with a ticket tries again later.
    LeaseHolder somebody{.task = {}, .name = made.error().diagnostics.front().message};
    somebody.leases.push_back({prepare.leases.wants.front().key, 0});
    return Blockers{std::move(somebody)};
  }
  OfTrial& trial = trials_[prepare.of.trial];
  trial.wants = prepare.leases.wants;
  trial.order = prepare.leases.order;
  trial.directory = prepare.leases.directory;
  trial.task = prepare.task_id;
  trial.allow_busy = prepare.leases.allow_busy;
  for (LeaseWant& want : trial.wants)
    want.key = settled(want.key, prepare.leases.slots, gpus.cuda, gpus.rocm);
  const bool has_gpus = std::any_of(trial.wants.begin(), trial.wants.end(),
                                    [](const LeaseWant& want) { return is_gpu(want.key); });
  if (has_gpus && means_.name_gpus) {
    const GpuNames names = means_.name_gpus();
    for (LeaseWant& want : trial.wants) want.key = named(want.key, names.cuda, names.rocm);
  }
  return take(trial);
}

// Fails if the guard cannot hold the locks as well: they would be free as soon as the agent is
// killed, while its ranks are still being ended.
Result<AgentLeases::Blockers> AgentLeases::take(OfTrial& trial) {
  auto blockers = trial.leases->take(trial.wants, trial.order);
  if (!blockers || !blockers->empty()) {
    trial.is_held = false;
    return blockers;
  }
  if (auto foreign = foreign_users_of(trial); !foreign.empty()) {
    trial.leases->drop();
    return foreign;
  }
  trial.is_held = true;
  if (auto kept = keep_in_guard(*trial.leases); !kept) {
    trial.leases->drop();
    trial.is_held = false;
    return tl::make_unexpected(kept.error());
  }
  return blockers;
}

// Locks released in the meantime still fill the guard's socket: when it gets full, they are
// removed.
Result<void> AgentLeases::keep_in_guard(TaskLeases& leases) {
  if (!in_guard_) return {};
  if (in_guard_.is_filling()) {
    std::vector<int> held;
    for (const auto& [trial, known] : trials_)
      for (const int descriptor : known.leases->descriptors()) held.push_back(descriptor);
    (void)in_guard_.replace(held);
  }
  return in_guard_.add(leases.take_new_descriptors());
}

// Empty if the trial already holds its leases: it keeps them even if other processes use its GPUs.
AgentLeases::Blockers AgentLeases::foreign_users_of(const OfTrial& trial) const {
  if (trial.allow_busy || trial.is_held) return {};
  const auto is_wanted = [&](const LeaseHolder::Held& used) {
    return std::any_of(trial.wants.begin(), trial.wants.end(),
                       [&](const LeaseWant& want) { return is_same_slot(want.key, used.key); });
  };
  const bool has_gpus = std::any_of(trial.wants.begin(), trial.wants.end(), [](const auto& want) {
    return want.key.kind == LeaseKey::Kind::cuda;
  });
  if (!has_gpus) return {};
  const auto folder = lease_folder_of(means_, trial.directory);
  const auto holders =
      folder ? holders_on(*folder, user_name_in_passwd) : std::vector<LeaseHolder>();
  Blockers users = foreign_users(means_, holders, user_name_in_passwd);
  std::erase_if(users, [&](LeaseHolder& user) {
    std::erase_if(user.leases, [&](const auto& used) { return !is_wanted(used); });
    return user.leases.empty() || user.name == trial.task;
  });
  return users;
}

Result<AgentLeases::Blockers> AgentLeases::retry_take(int trial) {
  const std::lock_guard lock(mutex_);
  const auto known = trials_.find(trial);
  if (known == trials_.end()) return Blockers();
  return take(known->second);
}

void AgentLeases::drop(int trial) {
  const std::lock_guard lock(mutex_);
  const auto known = trials_.find(trial);
  if (known == trials_.end()) return;
  known->second.leases->drop();
  known->second.is_held = false;
}

void AgentLeases::end(int trial) {
  drop(trial);
  const std::lock_guard lock(mutex_);
  trials_.erase(trial);
}

void AgentLeases::drop_all() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  for (const auto& [trial, known] : trials_) known.leases->drop();
}

void AgentLeases::confirm(int trial) {
  const std::lock_guard lock(mutex_);
  const auto known = trials_.find(trial);
  if (known == trials_.end()) return;
  TaskLeases& leases = *known->second.leases;
  for (const LeaseWant& want : known->second.wants)
    if (is_known_gpu(want)) used_gpus_.insert(want.key.name);
  leases.note_running();
  // If the guard cannot hold the locks that are taken only now, they are free as soon as this
  // process is killed.
  (void)keep_in_guard(leases);
}

std::vector<std::string> AgentLeases::whole_gpus_of(int trial, bool all) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> gpus;
  const auto known = trials_.find(trial);
  if (known == trials_.end() || (known->second.allow_busy && !all)) return gpus;
  const std::vector<LeaseKey> recently_used = known->second.leases->recently_used_gpus();
  const auto was_used = [&](const LeaseKey& key) {
    return used_gpus_.contains(key.name) ||
           std::find(recently_used.begin(), recently_used.end(), key) != recently_used.end();
  };
  for (const LeaseWant& want : known->second.wants)
    if (is_known_gpu(want) && is_whole(want) && (all || was_used(want.key)))
      gpus.push_back(want.key.name);
  return gpus;
}

void AgentLeases::touch() {
  const std::lock_guard lock(mutex_);
  for (const auto& [trial, known] : trials_) {
    known.leases->touch();
    (void)keep_in_guard(*known.leases);
  }
}

}  // namespace train
