// SPDX-License-Identifier: Apache-2.0
#pragma once
// What hosts say, built by hand.

#include <string>
#include <vector>

#include "launcher/talks/host_report.hpp"

namespace train {

/// A holder of all of these.
inline LeaseHolder holder_of(const std::string& task, const std::vector<LeaseKey>& keys) {
  LeaseHolder holder{.task = task};
  if (!task.empty()) {
    holder.name = "digits";
    holder.user = "alice";
    holder.launcher = "process 7 on 'head'";
    holder.uid = 1'000;
    holder.held_ms = 5'000;
  }
  for (const LeaseKey& key : keys) holder.leases.push_back({key, lease_units});
  return holder;
}

inline HostReport report_of(const std::vector<LeaseHolder>& holders,
                            const std::vector<int>& cuda = {}) {
  HostReport report;
  report.lease_folder = "/run/lock";
  report.lease_identity = "boot:1:2";
  report.holders = holders;
  report.gpus.cuda = cuda;
  return report;
}

}  // namespace train
