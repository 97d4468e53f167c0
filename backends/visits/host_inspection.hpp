// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "backends/lease/lease_folder.hpp"
#include "backends/process/agent_means.hpp"
#include "launcher/talks/host_report.hpp"

namespace train {

/// The resources of this host and their holders. Of `means` it uses those for GPUs and the lease
/// folder. May wait for a disk. `directory` as for `lease_folder_of`.
HostReport inspect_host(const AgentMeans& means, const std::string& directory = {});

/// The resources only, without leases and holders.
HostReport inspect_resources(const AgentMeans& means);

/// The folder of this host's leases: `directory`, if not empty; else the one in `means`; else the
/// default place of the host.
Result<LeaseFolder> lease_folder_of(const AgentMeans& means, const std::string& directory);

/// The processes that compute on GPUs of this host and belong to no task of `holders`.
std::vector<LeaseHolder> foreign_users(
    const AgentMeans& means, const std::vector<LeaseHolder>& holders,
    const std::function<std::string(std::int64_t uid)>& user_name_of);

/// Adds holders and waiting tickets to a report that already contains the host's GPUs.
void inspect_leases(const LeaseFolder& folder,
                    const std::function<std::string(std::int64_t uid)>& user_name_of,
                    HostReport& report);

}  // namespace train
