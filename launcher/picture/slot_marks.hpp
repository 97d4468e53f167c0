// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// Records which ranks use and which others hold the slots of one host. Slots that look the same
/// become one run.
class SlotMarks {
 public:
  /// A rank, counted from the first one of the host, uses a share of the slot.
  void use(int slot, int rank, Quantity share);
  /// Another task or process holds a share of it: `holder` is an index into
  /// `ClusterPicture::holders`.
  void hold(int slot, Quantity share, int holder);

  /// The runs that cover `slots` slots. Slots without user and holder are free; if a filter left
  /// only the slots in `left` (ascending; empty: all), the others are excluded.
  std::vector<SlotRun> take_runs(int slots, const std::vector<int>& left = {});

 private:
  std::map<int, SlotRun> runs_;  ///< used or held slots, by index
};

/// Numbers holders in order of appearance.
class HolderIndex {
 public:
  int index_of(const std::string& holder);
  std::vector<std::string> take() { return std::move(holders_); }

 private:
  std::vector<std::string> holders_;
  std::map<std::string, int> indices_;
};

}  // namespace train
