// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "backends/lease/lease_folder.hpp"
#include "backends/process/agent_means.hpp"
#include "launcher/talks/host_report.hpp"

namespace train {

/// What this host has and who holds it. Of the means it takes those that count and name GPUs, and
/// the folder of leases. May wait for a disk. `directory` as for `lease_folder_of`.
HostReport look_at_this_host(const AgentMeans& means, const std::string& directory = {});

/// The first half of that: nothing of leases.
HostReport look_at_what_there_is(const AgentMeans& means);

/// Where what is held of this host is locked: in this directory, else where the means say, else in
/// the usual place of the host.
Result<LeaseFolder> lease_folder_of(const AgentMeans& means, const std::string& directory);

/// Who computes on GPUs of this host in no task of these holders.
std::vector<LeaseHolder> foreign_users(
    const AgentMeans& means, const std::vector<LeaseHolder>& holders,
    const std::function<std::string(std::int64_t uid)>& user_name_of);

/// Who holds and who waits for what, into a report that has the host's GPUs already.
void look_at_leases(const LeaseFolder& folder,
                    const std::function<std::string(std::int64_t uid)>& user_name_of,
                    HostReport& report);

}  // namespace train
