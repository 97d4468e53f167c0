// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/capacity/capacity.hpp"
#include "launcher/picture/cluster_picture.hpp"
#include "launcher/picture/slot_marks.hpp"

namespace train {

/// One host and its users.
struct HostScene {
  const Host& host;
  const PlannedHost* planned = nullptr;               ///< its part in the trial, or null
  bool is_left_out = false;                           ///< wholly excluded by a filter
  const std::vector<const HostUse*>* uses = nullptr;  ///< parts held by others
};

/// Makes the looks of hosts, and collects the holders of their slots. A host with many slots costs
/// no more than one with few: slots that look the same are one run.
class HostDrawing {
 public:
  HostDrawing(const Plan& plan, const HostInventory& usable);

  HostLook look_of(const HostScene& scene);

  /// Every holder that occurs in a look, by index.
  std::vector<std::string> take_holders() { return holders_.take(); }

 private:
  void mark_ranks(SlotMarks& marks, const HostScene& scene, const SlotSupply& supply) const;
  void mark_trainer(SlotMarks& marks);
  void mark_uses(SlotMarks& marks, const HostScene& scene);
  std::vector<std::string> notes_of(const HostScene& scene, const SlotSupply& supply);
  std::string obstacle_of(const Host& host) const;

  const Plan& plan_;
  std::vector<Constraint> constraints_;
  HolderIndex holders_;
};

}  // namespace train
