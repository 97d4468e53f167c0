// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/lease/lease_folder.hpp"
#include "launcher/lease/lease.hpp"

namespace train {

/// How the names of the files begin in which holders say who they are.
inline constexpr std::string_view holder_prefix = "holder-";

/// Who holds something of this host, as the locks and the files beside them say, in this folder and
/// the other ones of the order; what nobody says anything of is an unknown holder's. Reads alone.
/// `user_name_of` gives the name of a user id, or nothing.
std::vector<LeaseHolder> holders_on(
    const LeaseFolder& folder, const std::function<std::string(std::int64_t uid)>& user_name_of);

/// The name of a user on this host, from /etc/passwd alone: a static program has no other way.
/// Empty: it is not there.
std::string user_name_in_passwd(std::int64_t uid);

}  // namespace train
