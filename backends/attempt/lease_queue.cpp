// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/lease_queue.hpp"

#include <utility>

namespace train {

LeaseQueue::LeaseQueue(Loop& loop, std::string key, const AgentMeans& means)
    : loop_(loop),
      leases_(std::make_shared<AgentLeases>(std::move(key), means)),
      work_(loop, Background::Idle::goes) {}

void LeaseQueue::take(std::shared_ptr<const message::Prepare> prepare, HostGpus gpus, Then then) {
  try_to([prepare = std::move(prepare),
          gpus = std::move(gpus)](AgentLeases& leases) { return leases.take(*prepare, gpus); },
         std::move(then));
}

void LeaseQueue::retry_take(int trial, Then then) {
  try_to([trial](AgentLeases& leases) { return leases.retry_take(trial); }, std::move(then));
}

void LeaseQueue::try_to(Try attempt, Then then) {
  const auto tried = std::make_shared<Result<AgentLeases::Blockers>>();
  const auto work = [tried, leases = leases_, attempt = std::move(attempt)] {
    *tried = attempt(*leases);
  };
  if (auto begun = work_.run(work, [tried, then] { then(*tried); }); !begun)
    loop_.post([then, why = begun.error()] { then(tl::make_unexpected(why)); });
}

// If no thread can be started, runs it here: then nothing is queued before it.
void LeaseQueue::change(Change change_of, int trial) {
  const auto work = [leases = leases_, change_of, trial] { ((*leases).*change_of)(trial); };
  if (!work_.run(work, {})) work();
}

std::function<std::vector<std::string>()> LeaseQueue::whole_gpus_of(int trial, bool all) const {
  return [leases = leases_, trial, all] { return leases->whole_gpus_of(trial, all); };
}

void LeaseQueue::touch() {
  (void)work_.run([leases = leases_] { leases->touch(); }, {});
}

}  // namespace train
