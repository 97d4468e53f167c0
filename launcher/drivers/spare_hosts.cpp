// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/spare_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_schema/text/text.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/rendezvous/rank_environment.hpp"

namespace train {

namespace {

const std::string& name_of(const Plan& plan, const Failure& failure) {
  return plan.trial.hosts[static_cast<std::size_t>(failure.host)].host.name;
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
  std::set<std::string> away = unreached;
  for (const Failure& each : failures) {
    if (!leave_out(plan, each, outcome.were_told_to_start, now)) continue;
    is_any = true;
    if (each.error.error_class != ErrorClass::busy) away.insert(name_of(plan, each));
  }
  blame(plan, outcome);
  std::vector<LeftOutHost> left_out;
  for (const PlannedHost& planned : plan.trial.hosts)
    if (const auto why = excluded_.find(planned.host.name); why != excluded_.end())
      left_out.push_back({planned.host.name, why->second});
  const bool was_tentative_in_vain =
      std::exchange(is_tentative_, false) && !outcome.were_told_to_start;
  const bool must_move = is_any || !left_out.empty();
  const int workers = workers_of(plan.trial);
  const bool may_grow = outcome.were_told_to_start && workers < plan.experiment.workers;
  if (!must_move && !may_grow) return std::nullopt;
  auto trial = place(plan, away, outcome.were_told_to_start);
  if (!trial) return std::nullopt;
  const int next_workers = workers_of(*trial);
  // Where a program fails again and again, it must not use up one host after the other.
  if (next_workers < workers && !is_any) return std::nullopt;
  if (next_workers <= workers && !must_move) return std::nullopt;
  if (next_workers > workers) is_tentative_ = true;
  auto next = std::make_shared<Plan>(plan);
  next->trial = std::move(*trial);
  return NextPlace{next, port_needs(*next),
                   [next](int rank, int attempt) { return environment_of(*next, rank, attempt); },
                   failed_.size() > failed_before || was_tentative_in_vain, std::move(left_out)};
}

// Without leases, nothing tells when a use by others ends: it holds for good.
std::optional<Trial> SpareHosts::place(const Plan& plan, const std::set<std::string>& unreached,
                                       bool may_be_tentative) {
  const auto without = [&](HostInventory hosts) {
    std::erase_if(hosts.hosts, [&](const Host& host) { return unreached.contains(host.name); });
    return hosts;
  };
  const HostInventory reached = without(hosts_.left());
  Occupancy held = hosts_.held();
  Occupancy all_held = held;
  all_held.insert(all_held.end(), held_.begin(), held_.end());
  if (plan.experiment.leases == Leasing::none) held = all_held;
  const ExperimentConfig& all = plan.experiment;
  auto trial = place_beside(all, plan, reached, all_held);
  if (!trial) trial = place_beside(all, plan, reached, held);
  if (!trial) {
    trial = place_smaller(plan, reached, all_held);
    auto larger = may_be_tentative || !trial ? place_smaller(plan, reached, held) : std::nullopt;
    if (larger && (!trial || workers_of(*larger) > workers_of(*trial))) {
      is_tentative_ = trial.has_value();
      trial = std::move(larger);
    }
  }
  for (const HostInventory& more : {without(allowed()), hosts_.left()}) {
    if (!trial) trial = place_beside(all, plan, more, held);
    if (!trial) trial = place_smaller(plan, more, held);
  }
  return trial;
}

// All that are not left out for good.
HostInventory SpareHosts::allowed() const {
  HostInventory hosts = all_;
  std::erase_if(hosts.hosts, [&](const Host& host) { return excluded_.contains(host.name); });
  return hosts;
}

std::optional<Trial> SpareHosts::place_smaller(const Plan& plan, const HostInventory& hosts,
                                               const Occupancy& held) const {
  const auto smaller = shrink(plan.experiment, hosts, held);
  return smaller ? place_beside(*smaller, plan, hosts, held) : std::nullopt;
}

// On the hosts of the plan and the first ones of the others, as few as will do.
std::optional<Trial> SpareHosts::place_beside(const ExperimentConfig& experiment, const Plan& plan,
                                              const HostInventory& hosts,
                                              const Occupancy& held) const {
  auto best = place_alike(experiment, plan, hosts, held);
  if (!best) return std::nullopt;
  const std::vector<std::string> names = host_names(plan.trial);
  const std::set<std::string> present(names.begin(), names.end());
  const auto with = [&](std::size_t others) {
    HostInventory some = hosts;
    std::erase_if(some.hosts, [&](const Host& host) {
      return !present.contains(host.name) && (others == 0 || others-- == 0);
    });
    return place_alike(experiment, plan, some, held);
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

// Where one rank is started for the workers of a host, other places may have other numbers of
// ranks.
std::optional<Trial> SpareHosts::place_alike(const ExperimentConfig& experiment, const Plan& plan,
                                             const HostInventory& hosts,
                                             const Occupancy& held) const {
  auto trial = place_trial(experiment, hosts, held);
  if (!trial || trial->backend != plan.trial.backend) return std::nullopt;
  const bool is_fixed = plan.experiment.least_workers == 0;
  const bool is_alike = is_fixed ? trial->world_size == ranks_ : trial->world_size <= ranks_;
  return is_alike ? std::move(trial) : std::nullopt;
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
    exclude(host, fmt::format("its ranks were the first to fail in {} (blame_limit)",
                              counted(times, "attempt")));
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
