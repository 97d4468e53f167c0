// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "backends/ssh_config/file_work.hpp"
#include "backends/ssh_keys/identities.hpp"

namespace train {

/// What keys to try on hosts, found out beside the loop: their files and ssh-agent may hang.
class LoginPlans {
 public:
  /// `limit`: for how long a plan is waited for.
  LoginPlans(Loop& loop, std::chrono::milliseconds agent_deadline,
             std::chrono::milliseconds agent_patience, bool can_unlock,
             std::chrono::milliseconds limit)
      : identities_(std::make_shared<Identities>(agent_deadline, agent_patience, can_unlock)),
        work_(loop, limit) {}

  /// As `Identities::plan`; from the loop, as long as this object lives. The error says that the
  /// keys take too long to be read.
  using OnPlan = std::function<void(Result<LoginPlan>)>;
  void make(const IdentityChoice& choice, OnPlan on_plan);
  /// As `Identities::forget_agents`.
  void forget_agents();
  /// As `Identities::replace`, for all plans that are asked for later.
  void replace(std::shared_ptr<SigningKey> locked, Identities::Loaded opened);

 private:
  std::shared_ptr<Identities> identities_;  ///< the worker's
  FileWork work_;
};

}  // namespace train
