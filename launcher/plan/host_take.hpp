// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// What a trial takes of one of its hosts, including the trainer on the first host.
struct HostTake {
  /// Shares of slots that are not CPUs: below 1 if workers share a device.
  std::map<int, Quantity> slots;
  Quantity cpus;
  std::uint64_t memory = 0;                ///< bytes
  std::map<std::string, Quantity> custom;  ///< resources that workers or the trainer request

  bool operator==(const HostTake&) const = default;
};

/// `host` is an index into `Trial::hosts`.
HostTake take_of(const ExperimentConfig& experiment, const Trial& trial, int host);

}  // namespace train
