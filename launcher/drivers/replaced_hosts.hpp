// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "launcher/connections/sweep_driver.hpp"

namespace train {

/// Hosts of a task whose place others have taken: what is left of the task there is ended as soon
/// as they can be reached, while the task goes on.
class ReplacedHosts {
 public:
  /// `goodbye`: for each further sweep. What the ports refer to must outlive this object.
  ReplacedHosts(SweepDriver::Ports ports, std::function<Goodbye()> goodbye)
      : ports_(ports), goodbye_(std::move(goodbye)) {}
  ReplacedHosts(const ReplacedHosts&) = delete;
  ReplacedHosts& operator=(const ReplacedHosts&) = delete;

  /// From now on this host is swept until it is clean. Does nothing if it is already.
  void add(int host, const AbandonedHost& at);
  /// The task is about to use the host of this name again.
  void remove(const std::string& name);
  /// Those that have not said yet that nothing is left.
  std::set<int> unsettled() const;

 private:
  struct Replaced {
    AbandonedHost at;
    std::unique_ptr<SweepDriver> sweep;
    std::unique_ptr<Subscription> next;  ///< the end of this sweep, or the next one
  };

  void sweep(int host);
  void swept(int host);

  SweepDriver::Ports ports_;
  std::function<Goodbye()> goodbye_;
  std::map<int, Replaced> hosts_;
};

}  // namespace train
