// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// "Slurm ends job 12: its limit of time is over": why the job that this process or these hosts
/// belong to is ended, or was warned of (`was_warned`). Empty: there is none, it goes on, or Slurm
/// does not answer within two seconds. Blocks.
std::string words_on_end_of_job(const std::vector<Host>& hosts, bool was_warned);

}  // namespace train
