// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// Who uses and who holds the slots of one host, slot by slot. Slots that look the same become one
/// run.
class SlotMarks {
 public:
  /// A rank, counted from the first of the host, takes a share of the slot.
  void use(int slot, int rank, Quantity share);
  /// Somebody else holds a share of it: `holder` is an index into `ClusterPicture::holders`.
  void hold(int slot, Quantity share, int holder);

  /// The runs that make up `slots` slots. Those that nobody has are free; when a filter left only
  /// some, those in `left`, ascending (empty: all), the others are excluded.
  std::vector<SlotRun> take_runs(int slots, const std::vector<int>& left = {});

 private:
  std::map<int, SlotRun> runs_;  ///< of slots that are used or held, by index
};

/// Numbers holders in the order in which they appear.
class HolderIndex {
 public:
  int index_of(const std::string& holder);
  std::vector<std::string> take() { return std::move(holders_); }

 private:
  std::vector<std::string> holders_;
  std::map<std::string, int> indices_;
};

}  // namespace train
