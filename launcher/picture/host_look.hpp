// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"
#include "launcher/placement/capacity.hpp"

namespace train {

/// One host, and who uses it.
struct HostScene {
  const Host& host;
  const PlannedHost* planned = nullptr;               ///< its part in the trial, if it has one
  bool is_left_out = false;                           ///< by a filter, wholly
  const std::vector<const HostUse*>* uses = nullptr;  ///< what others hold of it
};

/// Says what hosts look like, and collects who holds their slots. A host with many slots costs no
/// more than one with few: slots that look the same are one run.
class HostLooks {
 public:
  HostLooks(const Plan& plan, const HostInventory& usable);

  HostLook look_of(const HostScene& scene);

  /// Every holder that a look named, by index.
  std::vector<std::string> take_holders() { return std::move(holders_); }

 private:
  using Marks = std::map<int, SlotRun>;  // slots that are used or held, by index

  void mark_ranks(Marks& marks, const HostScene& scene, const SlotSupply& supply) const;
  void mark_trainer(Marks& marks);
  void mark_share(SlotRun& run, int slot, Quantity share, const std::string& holder);
  void mark_uses(Marks& marks, const HostScene& scene);
  int holder_index(const std::string& holder);
  std::vector<std::string> notes_of(const HostScene& scene, const SlotSupply& supply);
  std::string obstacle_of(const Host& host) const;

  const Plan& plan_;
  std::vector<Constraint> constraints_;
  std::vector<std::string> holders_;
  std::map<std::string, int> index_of_holder_;
};

}  // namespace train
