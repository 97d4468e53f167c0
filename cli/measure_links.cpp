// SPDX-License-Identifier: Apache-2.0
#include "cli/measure_links.hpp"

#include "backends/network/link_measure.hpp"
#include "cli/environment.hpp"
#include "config_schema/text/text.hpp"

namespace train {

Result<std::string> measure_links_of_task() {
  const auto world = whole_number(variable("WORLD_SIZE"), 1, most_linked_ranks);
  const auto rank = whole_number(variable("RANK"), 0, world.value_or(1) - 1);
  const auto port = whole_number(variable("MASTER_PORT"), 1, 65'535);
  if (!world || !rank || !port)
    return fail(ErrorClass::usage, "measure-links runs as the ranks of a task",
                "'train check --full' starts it, one rank on each host");
  const MeetingRank own{*rank, *world, variable("MASTER_ADDR"), *port, variable("TRAIN_TASK_ID")};
  const auto links = measure_links(own);
  if (!links) return tl::make_unexpected(links.error());
  return *rank == 0 ? encode_link_report(*links) : std::string();
}

}  // namespace train
