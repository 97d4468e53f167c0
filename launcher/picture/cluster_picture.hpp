// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/capacity/occupancy.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// What a slot is in a picture of a cluster.
enum class SlotState {
  used,      ///< by ranks of the trial, and perhaps by others as well
  free,      ///< may be used, and is not
  held,      ///< by somebody else
  excluded,  ///< left out by --include or --exclude, or as `ClusterPicture::left_out` says
};

/// Neighbouring slots of one host that look the same: all slots of one rank, or one slot and the
/// ranks that share it, or slots without ranks.
struct SlotRun {
  int first_slot = 0;
  int slots = 1;
  SlotState state = SlotState::free;
  int first_rank = 0;  ///< counted from the first rank of the host
  int rank_count = 0;
  Quantity taken = {};            ///< share of each slot that the ranks take
  Quantity held = {};             ///< share of each slot that others hold
  std::vector<int> holders = {};  ///< who that is: indices into ClusterPicture::holders, ascending

  auto operator<=>(const SlotRun&) const = default;
};

/// What a host looks like; hosts that look the same may share a row.
struct HostLook {
  int slots = 0;                  ///< of the host, those left out included
  std::vector<SlotRun> runs;      ///< that make up all the slots, in their order
  int ranks = 0;                  ///< of the trial on the host
  bool is_left_out = false;       ///< by --include or --exclude, wholly
  std::vector<std::string> note;  ///< what else there is to say, in a few words each

  auto operator<=>(const HostLook&) const = default;
};

/// A row of the picture: a host, or several that look the same but for their rank numbers.
struct PictureRow {
  std::vector<std::string> hosts;
  HostLook look;
  /// Rank 0 of `look` on the first of the hosts. The ranks of each host follow those of the host
  /// before it; nothing: the hosts' ranks are scattered, or there are none.
  std::optional<int> first_rank;
  /// The row stands for hosts for which there was no room; it has no slots to show.
  bool is_rest = false;
  std::string figure = {};  ///< under `ClusterPicture::column`; rows of one look have the same
};

/// A cluster as people see it: hosts as rows in file order, slots as cells.
struct ClusterPicture {
  std::vector<PictureRow> rows;
  std::vector<std::string> holders = {};  ///< of slots, in the order in which they appear
  std::string column = {};            ///< its heading, in place of that of the ranks; empty: RANKS
  std::string left_out = "excluded";  ///< what slots in that state are called
};

/// Rows of one host each, in file order, made fewer as `draw_cluster` says it.
std::vector<PictureRow> fold_rows(const std::vector<PictureRow>& rows, std::size_t most);

/// What is drawn.
struct PictureSubject {
  const Plan& plan;
  const HostInventory& usable;  ///< the hosts that the plan was made of
  const HostInventory& named;   ///< the same and those that a filter left out, in their order
  const Occupancy& occupancy;   ///< what others hold; draws it, and decides nothing
  std::size_t most_rows = 16;   ///< at least 4
};

/// Draws every host of `named`. Hosts without ranks that look the same share a row. Hosts with
/// ranks get a row each if there are few, else neighbours that look the same share one, else all
/// that look the same; what does not fit even so becomes one row of kind `is_rest`.
ClusterPicture draw_cluster(const PictureSubject& subject);

}  // namespace train
