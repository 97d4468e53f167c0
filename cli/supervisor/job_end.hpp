// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// "Slurm ends job 12: its limit of time is over": why the job that this process or these hosts
/// belong to is ended, or was warned of (`was_warned`). Empty: there is none, it goes on, or Slurm
/// does not answer within two seconds. Blocks.
std::string words_on_end_of_job(const std::vector<Host>& hosts, bool was_warned);

/// Whether the job of this process goes back into Slurm's queue: Slurm has decided so or, if it
/// only warns that the job's time is nearly over (`was_warned`), it would do so for this process,
/// and has done it fewer than `most` times. Blocks, for eight seconds at most.
bool goes_back_into_queue(bool was_warned, int most);

/// Has Slurm put the job of this process back into its queue. Slurm ends this process then.
Result<void> go_back_into_queue();

}  // namespace train
