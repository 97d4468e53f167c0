// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "launcher/connections/connections.hpp"
#include "launcher/connections/trial_hosts.hpp"

namespace train {

/// The view that the run of one trial has of `Connections`; `host` is a node rank of the trial.
class TrialConnections {
 public:
  /// `all` must outlive this.
  TrialConnections(const Connections& all, TrialHosts hosts)
      : all_(all), hosts_(std::move(hosts)) {}

  int count() const { return hosts_.count(); }
  const std::string& name(int host) const { return all_.name(of_task(host)); }
  const std::string& address(int host) const { return all_.address(of_task(host)); }
  const std::string& own_address(int host) const { return all_.own_address(of_task(host)); }
  const std::string& likely_own_address(int host) const {
    return all_.likely_own_address(of_task(host));
  }
  bool is_away(int host) const { return all_.is_away(of_task(host)); }
  const ClockOffset& clock(int host) const { return all_.clock(of_task(host)); }
  Instant last_heard(int host) const { return all_.last_heard(of_task(host)); }
  Instant silent_since(int host) const { return all_.silent_since(of_task(host)); }
  Error silence(int host, Instant now) const { return all_.silence(of_task(host), now); }
  Instant awake_since() const { return all_.awake_since(); }
  const Connections::Timing& timing() const { return all_.timing(); }
  bool waits_for_ever() const { return all_.waits_for_ever(); }

 private:
  int of_task(int host) const { return hosts_.of_task(host); }

  const Connections& all_;
  TrialHosts hosts_;
};

}  // namespace train
