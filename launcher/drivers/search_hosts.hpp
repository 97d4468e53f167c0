// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/capacity/occupancy.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// Where the trials of a search may be placed now. A host that has failed a trial is excluded for a
/// time; slots that others were found to hold are avoided for a time. Both times double with each
/// repeated failure.
class SearchHosts {
 public:
  struct Timing {
    milliseconds left_out{60'000};
    milliseconds longest_left_out{16 * 60'000};
    milliseconds held{10'000};
    milliseconds longest_held{5 * 60'000};
  };

  SearchHosts(const HostInventory& all, Timing timing) : all_(all), timing_(timing), left_(all) {}
  explicit SearchHosts(const HostInventory& all) : SearchHosts(all, Timing()) {}

  /// All hosts except those excluded, and the other hosts of their TPU slices.
  const HostInventory& left() const { return left_; }
  /// Slots held by others, on any of the hosts.
  Occupancy held() const;

  /// Excludes a host from now on and returns for how long; nothing: it was excluded already.
  std::optional<milliseconds> leave_out(const std::string& host, Instant now);
  /// Excludes a host for as long as this object lives.
  void leave_out_for_good(const std::string& host);
  /// Others hold this, or a part of it.
  void hold(HostUse use, Instant now);
  /// Ranks have started on this use of a host.
  void started_on(const HostUse& use);

  /// There is room nowhere: ends the exclusion of hosts that have failed only once since ranks last
  /// started on them. Returns whether there are any.
  bool take_back_early();
  /// Ends exclusions whose time is over. Returns whether there are any.
  bool tick(Instant now);
  /// When the next tick is due; nothing: no tick is needed.
  std::optional<Instant> next_deadline() const;
  /// Whether slots are avoided that others may release.
  bool are_any_held() const;

 private:
  struct LeftOut {
    std::string host;
    int failures = 1;              ///< since ranks last started on it
    std::optional<Instant> until;  ///< nothing: not excluded any more
  };
  struct Held {
    HostUse use;
    int refusals = 1;
    std::optional<Instant> until;  ///< nothing: not avoided any more
  };

  void find_left();

  const HostInventory& all_;
  const Timing timing_;
  HostInventory left_;
  std::vector<LeftOut> left_out_;
  std::vector<Held> held_;
};

}  // namespace train
