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

/// Asks these hosts, all at the same time, what they have and who holds it, as a launch would reach
/// them. In their order; a host that cannot be reached, or does not answer within 15 s, is an error
/// of class `host` or `missing`. Ends before, when the loop of `reach` is stopped.
std::vector<Result<HostReport>> look_at_hosts(const std::vector<Host>& hosts, Reach& reach);

/// Hosts that a command looks at and does nothing else with, once or again and again. A signal ends
/// a look or a pause, and has its effect on this process when this object goes: a terminal where
/// somebody was asked for a passphrase is as it was before. Otherwise signals do what they ever do.
class HostInquiry {
 public:
  explicit HostInquiry(std::vector<Host> hosts);
  ~HostInquiry();
  HostInquiry(const HostInquiry&) = delete;
  HostInquiry& operator=(const HostInquiry&) = delete;

  std::vector<Result<HostReport>> look();
  /// Has each host look whether it is fit, for what `request_of` asks of it; for 30 s at most.
  std::vector<CheckedHost> check(const std::function<FitnessRequest(const Host&)>& request_of);
  /// The hosts stay logged in to from now on (`HostTransports::keep_sessions`).
  void keep_sessions();
  /// Serves the sessions until the next look, or until `is_enough`, which is asked often.
  void pause(nanoseconds length, const std::function<bool()>& is_enough);
  /// A signal came.
  bool is_stopped() const { return stop_signal_.has_value(); }

 private:
  void heed_signals();

  std::vector<Host> hosts_;
  StopSignals signals_;
  std::optional<int> stop_signal_;
  std::optional<Reach> reach_;
};

/// The reports of those that have answered, without what this task holds itself.
std::vector<std::optional<HostReport>> answered(const std::vector<Result<HostReport>>& reports,
                                                const std::string& own_task = {});

}  // namespace train
