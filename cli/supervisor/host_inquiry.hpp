// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/request/transports.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/verdict.hpp"
#include "launcher/talks/host_report.hpp"

namespace train {

/// Queries these hosts in parallel for their resources and holders, over the same transports as a
/// launch. Results are in the order of `hosts`; a host that cannot be reached, or does not answer
/// within 15 s, is an error of class `host` or `missing`. Ends early if the loop of `connections`
/// is stopped.
std::vector<Result<HostReport>> query_hosts(const std::vector<Host>& hosts,
                                            HostConnections& connections);

/// Hosts that a command only queries, once or repeatedly. A signal ends a query or a pause, and
/// takes its effect on this process when this object is destroyed: before that, a terminal with an
/// open passphrase question is restored. Outside of queries and pauses, signals have their usual
/// effect.
class HostInquiry {
 public:
  explicit HostInquiry(std::vector<Host> hosts);
  ~HostInquiry();
  HostInquiry(const HostInquiry&) = delete;
  HostInquiry& operator=(const HostInquiry&) = delete;

  std::vector<Result<HostReport>> query();
  /// Has each host check its fitness for the request that `request_of` returns; for 30 s at most.
  std::vector<CheckedHost> check(const std::function<FitnessRequest(const Host&)>& request_of);
  /// From now on, sessions to the hosts stay open (`HostTransports::keep_sessions`).
  void keep_sessions();
  /// Runs the loop until the next query is due, or until `is_enough`, which is called often.
  void pause(nanoseconds length, const std::function<bool()>& is_enough);
  /// Whether a signal has arrived.
  bool is_stopped() const { return stop_signal_.has_value(); }

 private:
  void heed_signals();

  std::vector<Host> hosts_;
  StopSignals signals_;
  std::optional<int> stop_signal_;
  std::optional<HostConnections> connections_;
};

/// The reports of the hosts that answered, without the holdings of `own_task`.
std::vector<std::optional<HostReport>> answered(const std::vector<Result<HostReport>>& reports,
                                                const std::string& own_task = {});

}  // namespace train
