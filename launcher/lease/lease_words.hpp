// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/lease/lease.hpp"

namespace train {

/// The leases, for people: "GPUs 0-3, 8 CPUs and 16 GiB of memory"; shortened if there are many.
std::string words_of(const std::vector<LeaseHolder::Held>& leases);

/// The holder: "task abcd2345 ('digits') of alice (launched by alice@head)"; an unknown holder is
/// described as a process without a task.
std::string short_words_of(const LeaseHolder& holder);

/// The task that waits and comes first: "task abcd2345 ('digits') of alice (launched by alice@head)
/// waits for slots there, and comes first".
std::string waiting_words_of(const LeaseHolder& holder);

}  // namespace train
