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
/// again. One whose ranks are the first to fail in several attempts (`blame_limit`), or that a log
/// policy excludes, is left out for good.
class SpareHosts {
 public:
  /// `all` must outlive it. `held`: by others, when the task was placed.
  SpareHosts(const HostInventory& all, Occupancy held) : hosts_(all), held_(std::move(held)) {}

  /// The place of the attempt after this one of `plan`, which has ended now. Nothing: the same,
  /// since no host has failed, or the others have no room for all ranks. Hosts that are not reached
  /// yet (`unreached`), and what others held, are used only if there is no room without.
  std::optional<NextPlace> after(const Plan& plan, const RunOutcome& outcome,
                                 const std::set<std::string>& unreached, Instant now);
  /// This host is not to be used any more, for this reason.
  void exclude(const std::string& host, const std::string& why);

 private:
  bool leave_out(const Plan& plan, const Failure& failure, bool were_told_to_start, Instant now);
  void blame(const Plan& plan, const RunOutcome& outcome);
  std::optional<Trial> place(const Plan& plan, const std::set<std::string>& unreached) const;

  SearchHosts hosts_;
  const Occupancy held_;
  std::set<std::string> failed_;       ///< hosts that have failed at any time
  std::map<std::string, int> blamed_;  ///< in how many attempts their ranks were the first to fail
  std::map<std::string, std::string> excluded_;  ///< and why, in words
};

}  // namespace train
