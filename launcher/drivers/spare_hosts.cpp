// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/spare_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/placement/placement.hpp"
#include "launcher/rendezvous/rank_environment.hpp"

namespace train {

namespace {

const std::string& name_of(const Plan& plan, const Failure& failure) {
  return plan.trial.hosts[static_cast<std::size_t>(failure.host)].host.name;
}

std::optional<Trial> place_alike(const Plan& plan, const HostInventory& hosts,
                                 const Occupancy& held) {
  auto trial = place_trial(plan.experiment, hosts, held);
  const bool is_alike =
      trial && trial->world_size == plan.trial.world_size && trial->backend == plan.trial.backend;
  return is_alike ? std::move(trial) : std::nullopt;
}

// On the hosts of the plan and the first ones of the others, as few as will do.
std::optional<Trial> place_beside(const Plan& plan, const HostInventory& hosts,
                                  const Occupancy& held) {
  auto best = place_alike(plan, hosts, held);
  if (!best) return std::nullopt;
  const std::vector<std::string> names = host_names(plan.trial);
  const std::set<std::string> present(names.begin(), names.end());
  const auto with = [&](std::size_t others) {
    HostInventory some = hosts;
    std::erase_if(some.hosts, [&](const Host& host) {
      return !present.contains(host.name) && (others == 0 || others-- == 0);
    });
    return place_alike(plan, some, held);
  };
  std::size_t too_few = 0;
  std::size_t enough = hosts.hosts.size();
  while (too_few < enough) {
    const std::size_t half = too_few + (enough - too_few) / 2;
    if (auto trial = with(half)) {
      best = std::move(trial);
      enough = half;
    } else {
      too_few = half + 1;
    }
  }
  return best;
}

}  // namespace

std::optional<NextPlace> SpareHosts::after(const Plan& plan, const RunOutcome& outcome,
                                           const std::set<std::string>& unreached, Instant now) {
  if (!outcome.cause) return std::nullopt;
  (void)hosts_.tick(now);
  const std::size_t failed_before = failed_.size();
  std::vector<Failure> failures = outcome.others;
  failures.push_back(*outcome.cause);
  bool is_any = false;
  for (const Failure& each : failures)
    is_any = leave_out(plan, each, outcome.were_told_to_start, now) || is_any;
  blame(plan, outcome);
  std::vector<LeftOutHost> left_out;
  for (const PlannedHost& planned : plan.trial.hosts)
    if (const auto why = excluded_.find(planned.host.name); why != excluded_.end())
      left_out.push_back({planned.host.name, why->second});
  if (!is_any && left_out.empty()) return std::nullopt;
  auto trial = place(plan, unreached);
  if (!trial) return std::nullopt;
  auto next = std::make_shared<Plan>(plan);
  next->trial = std::move(*trial);
  return NextPlace{next, port_needs(*next),
                   [next](int rank, int attempt) { return environment_of(*next, rank, attempt); },
                   failed_.size() > failed_before, std::move(left_out)};
}

// Without leases, nothing tells when a use by others ends: it holds for good.
std::optional<Trial> SpareHosts::place(const Plan& plan,
                                       const std::set<std::string>& unreached) const {
  const HostInventory& left = hosts_.left();
  HostInventory reached = left;
  std::erase_if(reached.hosts, [&](const Host& host) { return unreached.contains(host.name); });
  Occupancy held = hosts_.held();
  Occupancy all_held = held;
  all_held.insert(all_held.end(), held_.begin(), held_.end());
  if (plan.experiment.leases == Leasing::none) held = all_held;
  auto trial = place_beside(plan, reached, all_held);
  if (!trial) trial = place_beside(plan, reached, held);
  return trial ? trial : place_beside(plan, left, held);
}

// Where ranks of other hosts fail alike it is the program that fails, not the host.
void SpareHosts::blame(const Plan& plan, const RunOutcome& outcome) {
  const Failure& cause = *outcome.cause;
  const bool fail_others_alike =
      std::any_of(outcome.others.begin(), outcome.others.end(), [&](const Failure& other) {
        return other.rank && other.host != cause.host && other.exit_code == cause.exit_code;
      });
  if (!cause.rank || cause.host < 0 || fail_others_alike) return;
  const std::string& host = name_of(plan, cause);
  const int limit = plan.experiment.blame_limit;
  if (const int times = ++blamed_[host]; limit > 0 && times >= limit)
    exclude(host,
            fmt::format("its ranks were the first to fail in {} attempts (blame_limit)", times));
}

void SpareHosts::exclude(const std::string& host, const std::string& why) {
  if (excluded_.try_emplace(host, why).second) hosts_.leave_out_for_good(host);
}

// A host that was lost, or lacks what the ranks need; or one on which others hold that.
bool SpareHosts::leave_out(const Plan& plan, const Failure& failure, bool were_told_to_start,
                           Instant now) {
  if (failure.host < 0) return false;
  const auto node = static_cast<std::size_t>(failure.host);
  const ErrorClass why = failure.error.error_class;
  const std::string& host = name_of(plan, failure);
  if (why == ErrorClass::host || (why == ErrorClass::missing && !were_told_to_start))
    (void)hosts_.leave_out(host, now);
  else if (why == ErrorClass::busy)
    hosts_.hold(occupancy_of(plan.experiment, plan.trial, "others")[node], now);
  else
    return false;
  failed_.insert(host);
  return true;
}

}  // namespace train
