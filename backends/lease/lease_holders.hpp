// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/lease/lease_folder.hpp"
#include "launcher/lease/lease.hpp"

namespace train {

/// The prefix of the names of holder files.
inline constexpr std::string_view holder_prefix = "holder-";

/// The holders of leases on this host, from the holder files of living tasks and the locks beside
/// them, in this folder and the other ones of the order; a lock that no file claims belongs to an
/// unknown holder. Only reads. `user_name_of` returns the name of a user id, or an empty string.
std::vector<LeaseHolder> holders_on(
    const LeaseFolder& folder, const std::function<std::string(std::int64_t uid)>& user_name_of);

/// The ranges that living holders in this folder claim, by the name of the lock file; merged. They
/// count as held even if that lock file was removed or made anew: any user may hold what is free,
/// with a lock or with a claim. Skips the holder file `except`. Class `busy` if not all files could
/// be read; the message says why.
using ClaimedRanges = std::map<std::string, std::vector<LeaseRange>>;
Result<ClaimedRanges> claimed_in(const LeaseFolder& folder, const std::string& except = {});

/// The tasks of living holders that have a lease without its lock, because the lock file was
/// removed; in this folder and the other ones.
std::vector<std::string> tasks_without_locks(const LeaseFolder& folder);

/// Texts about squatters on names of lock files, in this folder and the other ones, with the
/// consequence; 8 at most.
std::vector<std::string> squats_on(const LeaseFolder& folder);

/// The name of a user on this host, from /etc/passwd only: a static program cannot use NSS. Empty
/// if it is not listed there.
std::string user_name_in_passwd(std::int64_t uid);

}  // namespace train
