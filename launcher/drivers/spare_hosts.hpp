// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "launcher/capacity/occupancy.hpp"
#include "launcher/drivers/search_hosts.hpp"
#include "launcher/drivers/task_work.hpp"

namespace train {

/// Decides where the attempts of a task run that follow the failure of a host: on all hosts but
/// those that have failed, by the rule by which the task was placed, and with as few new ones as
/// will do. A host that was lost is left out for a time, which doubles each time, and then serves
/// again; before that if it is reached and there is no room elsewhere. One whose ranks are the
/// first to fail in several attempts (`blame_limit`), or that a log policy excludes, is left out
/// for good. Where there is no room for all workers, those go on for which there is
/// (`least_workers`), and all again at the next attempt for which there is room.
class SpareHosts {
 public:
  /// `all` must outlive it. `held`: by others, when the task was placed. `ranks`: of its first
  /// attempt, which had all workers; none has more.
  SpareHosts(const HostInventory& all, Occupancy held, int ranks)
      : all_(all), hosts_(all), held_(std::move(held)), ranks_(ranks) {}

  /// The place of the attempt after this one of `plan`, which has ended now; its experiment is that
  /// of the first attempt. Nothing: the same, since no host has failed and there is no room for
  /// more workers, or the others have no room for enough of them. Hosts that are not reached yet
  /// (`unreached`), and what others held, are used only if there is no room without.
  std::optional<NextPlace> after(const Plan& plan, const RunOutcome& outcome,
                                 const std::set<std::string>& unreached, Instant now);
  /// This host is not to be used any more, for this reason.
  void exclude(const std::string& host, const std::string& why);

 private:
  bool leave_out(const Plan& plan, const Failure& failure, bool were_told_to_start, Instant now);
  void blame(const Plan& plan, const RunOutcome& outcome);
  HostInventory allowed() const;
  std::optional<Trial> place(const Plan& plan, const std::set<std::string>& unreached,
                             bool may_be_tentative);
  std::optional<Trial> place_alike(const ExperimentConfig& experiment, const Plan& plan,
                                   const HostInventory& hosts, const Occupancy& held) const;
  std::optional<Trial> place_beside(const ExperimentConfig& experiment, const Plan& plan,
                                    const HostInventory& hosts, const Occupancy& held) const;
  std::optional<Trial> place_smaller(const Plan& plan, const HostInventory& hosts,
                                     const Occupancy& held) const;

  const HostInventory& all_;
  SearchHosts hosts_;
  const Occupancy held_;
  const int ranks_;
  /// There is a sure place with fewer workers than the last one that was given: an attempt there
  /// that starts no rank does not count, and none of this kind follows it.
  bool is_tentative_ = false;
  std::set<std::string> failed_;       ///< hosts that have failed at any time
  std::map<std::string, int> blamed_;  ///< in how many attempts their ranks were the first to fail
  std::map<std::string, std::string> excluded_;  ///< and why, in words
};

}  // namespace train
