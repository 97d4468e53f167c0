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

/// How the names of the files begin in which holders say who they are.
inline constexpr std::string_view holder_prefix = "holder-";

/// Who holds something of this host, as the files of living holders and the locks beside them say,
/// in this folder and the other ones of the order; a lock of which nobody says anything is an
/// unknown holder's. Reads alone. `user_name_of` gives the name of a user id, or nothing.
std::vector<LeaseHolder> holders_on(
    const LeaseFolder& folder, const std::function<std::string(std::int64_t uid)>& user_name_of);

/// What the living holders in this folder say that they hold, by the name of the file with its
/// locks; merged. It is held, also where somebody has removed that file, or made it anew: any user
/// may hold what is free, with a lock or with words. All but the words in the file `except`. Class
/// `busy` where not all can be known, with who that is due to as its words.
using ClaimedRanges = std::map<std::string, std::vector<LeaseRange>>;
Result<ClaimedRanges> claimed_in(const LeaseFolder& folder, const std::string& except = {});

/// The tasks of living holders that hold something without a lock, since somebody has removed the
/// file with it; in this folder and the other ones.
std::vector<std::string> tasks_without_locks(const LeaseFolder& folder);

/// What squatters have made of the names of lock files, in this folder and the other ones, and what
/// comes of it: some of it, in words.
std::vector<std::string> squats_on(const LeaseFolder& folder);

/// The name of a user on this host, from /etc/passwd alone: a static program has no other way.
/// Empty: it is not there.
std::string user_name_in_passwd(std::int64_t uid);

}  // namespace train
