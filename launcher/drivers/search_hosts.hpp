// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/capacity/occupancy.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// Where the trials of a search may be placed now. A host that has failed one is left out for a
/// time, and what others were found to hold is passed over for a time; each is longer after every
/// try that fails again.
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

  /// All but those that are left out, and but the other hosts of their TPU slices.
  const HostInventory& left() const { return left_; }
  /// By others, of any of them.
  Occupancy held() const;

  /// For how long from now on; nothing: it was already.
  std::optional<milliseconds> leave_out(const std::string& host, Instant now);
  /// Others hold this, or something of it.
  void hold(HostUse use, Instant now);
  /// Ranks have started there, on this.
  void started_on(const HostUse& use);

  /// There is room nowhere: hosts that have failed only once since ranks last started there are
  /// back before their time. Whether there are any.
  bool take_back_early();
  /// Those whose time is over are back. Whether there are any.
  bool tick(Instant now);
  /// When a tick is wanted, if at all.
  std::optional<Instant> next_deadline() const;
  /// Something is passed over that others may give back.
  bool are_any_held() const;

 private:
  struct LeftOut {
    std::string host;
    int failures = 1;              ///< since ranks last started there
    std::optional<Instant> until;  ///< nothing: it is back
  };
  struct Held {
    HostUse use;
    int refusals = 1;
    std::optional<Instant> until;  ///< nothing: it is tried
  };

  void find_left();

  const HostInventory& all_;
  const Timing timing_;
  HostInventory left_;
  std::vector<LeftOut> left_out_;
  std::vector<Held> held_;
};

}  // namespace train
