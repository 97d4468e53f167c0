// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/measure.hpp"

#include <fmt/format.h>

#include <utility>

#include "backends/fitness/measure_allreduce.hpp"
#include "backends/fitness/python_facts.hpp"
#include "backends/network/link_measure.hpp"
#include "backends/posix/child.hpp"
#include "cli/agent/embedded_devices.hpp"
#include "cli/surroundings/environment.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/fitness/link_report.hpp"

namespace train {

namespace {

Result<MeetingRank> rank_of_task(const char* command, const char* flag, int most_ranks) {
  const auto world = whole_number(variable("WORLD_SIZE"), 1, most_ranks);
  const auto rank = whole_number(variable("RANK"), 0, world.value_or(1) - 1);
  const auto port = whole_number(variable("MASTER_PORT"), 1, 65'535);
  if (!world || !rank || !port)
    return fail(ErrorClass::usage, fmt::format("{} runs as the ranks of a task", command),
                fmt::format("'train check {}' starts it", flag));
  return MeetingRank{*rank, *world, variable("MASTER_ADDR"), *port, variable("TRAIN_TASK_ID")};
}

}  // namespace

Result<std::string> measure_links_of_task() {
  const auto own = rank_of_task("measure-links", "--full", most_linked_ranks);
  if (!own) return tl::make_unexpected(own.error());
  const auto links = measure_links(*own);
  if (!links) return tl::make_unexpected(links.error());
  return own->rank == 0 ? encode_link_report(*links) : std::string();
}

Result<std::string> measure_allreduce_of_task(const std::string& python) {
  auto meeting = rank_of_task("measure-allreduce", "--bench", most_allreduce_ranks);
  if (!meeting) return tl::make_unexpected(meeting.error());
  const int rank = meeting->rank;
  AllReduceMember own;
  own.meeting = std::move(*meeting);
  const std::string devices = variable("TRAIN_DEVICE_INDICES");
  const auto device = whole_number(devices, 0, INT32_MAX);
  const auto host = whole_number(variable("GROUP_RANK"), 0, most_allreduce_ranks - 1);
  if (!device || !host)
    return fail(ErrorClass::host,
                "the rank has no GPU of its own: its slots are '" + devices + "'");
  own.host = *host;
  own.device = *device;
  own.environment = environment_texts();
  own.library = find_nccl(python, own.environment);
  const auto groups = measure_allreduce(embedded_devices(), own);
  if (!groups) return tl::make_unexpected(groups.error());
  return rank == 0 ? encode_allreduce_groups(*groups) : std::string();
}

}  // namespace train
