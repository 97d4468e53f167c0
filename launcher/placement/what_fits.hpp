// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "launcher/placement/choose_hosts.hpp"

namespace train {

/// Answers `does this number of workers fit?` without placing it. A trainer is not counted: with
/// one, what fits here may still not fit.
class WhatFits {
 public:
  WhatFits(const std::vector<Room>& rooms, const PlacementRule& rule);

  bool fits(int workers) const;
  /// No larger number fits.
  int most() const { return most_; }
  /// Steps that one `fits` takes, for callers that bound their search.
  std::size_t cost() const { return 1 + sizes_.size(); }

 private:
  struct Size {
    int workers = 0;
    std::int64_t hosts = 0;
  };
  int on_one_host_ = 0;
  int most_ = 0;
  bool is_monotone_ = true;    ///< everything up to `most_` fits
  std::vector<Size> sizes_;    ///< whole hosts, largest first
  std::vector<bool> reached_;  ///< sums of whole hosts; empty unless they may be mixed
};

}  // namespace train
