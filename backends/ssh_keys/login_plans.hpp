// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "backends/ssh_config/file_work.hpp"
#include "backends/ssh_keys/identities.hpp"

namespace train {

/// Determines the keys to try on hosts, on a thread beside the loop: key files and ssh-agent may
/// hang.
class LoginPlans {
 public:
  /// `limit`: the timeout for a plan.
  LoginPlans(Loop& loop, std::chrono::milliseconds agent_deadline,
             std::chrono::milliseconds agent_patience, bool can_unlock,
             std::chrono::milliseconds limit)
      : identities_(std::make_shared<Identities>(agent_deadline, agent_patience, can_unlock)),
        work_(loop, limit) {}

  /// Like `Identities::plan`; calls back from the loop, as long as this object lives. The error
  /// says that reading the keys takes too long.
  using OnPlan = std::function<void(Result<LoginPlan>)>;
  void make(const IdentityChoice& choice, OnPlan on_plan);
  /// Like `Identities::forget_agents`.
  void forget_agents();
  /// Like `Identities::replace`, for all later plans.
  void replace(std::shared_ptr<SigningKey> locked, Identities::Loaded opened);

 private:
  std::shared_ptr<Identities> identities_;  ///< used by the worker thread
  FileWork work_;
};

}  // namespace train
