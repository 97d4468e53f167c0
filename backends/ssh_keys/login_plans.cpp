// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_keys/login_plans.hpp"

#include <utility>

namespace train {

void LoginPlans::make(const IdentityChoice& choice, OnPlan on_plan) {
  const auto plan = std::make_shared<LoginPlan>();
  work_.run(
      "reading the keys of this user",
      [identities = identities_, choice, plan] { *plan = identities->plan(choice); },
      [plan, on_plan = std::move(on_plan)](const Result<void>& done) {
        if (done) return on_plan(std::move(*plan));
        on_plan(tl::make_unexpected(done.error()));
      });
}

void LoginPlans::forget_agents() {
  work_.run(
      "reading the keys of this user", [identities = identities_] { identities->forget_agents(); },
      [](const Result<void>&) {});
}

void LoginPlans::replace(std::shared_ptr<SigningKey> locked, Identities::Loaded opened) {
  work_.run(
      "reading the keys of this user",
      [identities = identities_, locked = std::move(locked), opened = std::move(opened)] {
        identities->replace(*locked, opened);
      },
      [](const Result<void>&) {});
}

}  // namespace train
