// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/request/request.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// The plan of a request on the nodes of its partition; a refusal says if nodes that are away would
/// be enough (`busy`).
tl::expected<Plan, Refusal> plan_on_partition(const Request& request);

/// What the words of the launch in the job are, after its program.
struct JobWords {
  std::string task;                ///< its id; empty: for a plan
  std::vector<std::string> flags;  ///< of `train launch`, beside those of the request
};

/// A job as `sbatch` takes it.
struct JobScript {
  std::string program;               ///< absolute path of the `train` that it runs
  std::vector<std::string> options;  ///< these stand in the script as well
  std::string text;
};

/// The script of the job. Class `config` if a search does not say how many trials run at once,
/// `usage` if slots of nodes are chosen, `no_input` if the request holds secrets that are not kept.
Result<JobScript> script_of_job(const Request& request, const RequestFlags& flags, const Plan& plan,
                                const JobWords& words);

}  // namespace train
