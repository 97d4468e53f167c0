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

/// The state of a slot in a picture of a cluster.
enum class SlotState {
  used,      ///< by ranks of the trial, possibly shared with others
  free,      ///< usable and unused
  held,      ///< by other tasks or processes
  excluded,  ///< excluded by --include or --exclude, or as named in `ClusterPicture::left_out`
};

/// Neighbouring slots of one host that look the same: all slots of one rank, or one slot and the
/// ranks that share it, or slots without ranks.
struct SlotRun {
  int first_slot = 0;
  int slots = 1;
  SlotState state = SlotState::free;
  int first_rank = 0;  ///< counted from the first rank of the host
  int rank_count = 0;
  Quantity taken = {};            ///< share of each slot that the ranks use
  Quantity held = {};             ///< share of each slot that others hold
  std::vector<int> holders = {};  ///< the holders: indices into ClusterPicture::holders, ascending

  auto operator<=>(const SlotRun&) const = default;
};

/// The look of a host; hosts with the same look may share a row.
struct HostLook {
  int slots = 0;                  ///< slots of the host, including those left out
  std::vector<SlotRun> runs;      ///< cover all slots, in order
  int ranks = 0;                  ///< ranks of the trial on the host
  bool is_left_out = false;       ///< wholly excluded by --include or --exclude
  std::vector<std::string> note;  ///< further remarks, in a few words each

  auto operator<=>(const HostLook&) const = default;
};

/// A row of the picture: a host, or several with the same look apart from their rank numbers.
struct PictureRow {
  std::vector<std::string> hosts;
  HostLook look;
  /// Rank 0 of `look` on the first of the hosts. The ranks of each host follow those of the
  /// previous one. Nothing: the hosts' ranks are scattered, or there are none.
  std::optional<int> first_rank;
  /// The row stands for hosts that did not fit; it shows no slots.
  bool is_rest = false;
  std::string figure = {};  ///< shown in `ClusterPicture::column`; rows of one look have the same
};

/// A cluster as a picture: hosts as rows in file order, slots as cells.
struct ClusterPicture {
  std::vector<PictureRow> rows;
  std::vector<std::string> holders = {};  ///< holders of slots, in order of appearance
  std::string column = {};                ///< heading that replaces that of the ranks; empty: RANKS
  std::string left_out = "excluded";      ///< the word for slots in that state
};

/// Reduces rows of one host each, in file order, to at most `most`, as described at `draw_cluster`.
std::vector<PictureRow> fold_rows(const std::vector<PictureRow>& rows, std::size_t most);

/// The input of a picture.
struct PictureSubject {
  const Plan& plan;
  const HostInventory& usable;  ///< the hosts that the plan was made from
  const HostInventory& named;   ///< the same and those that a filter left out, in order
  const Occupancy& occupancy;   ///< held by others; only drawn, has no effect on the plan
  std::size_t most_rows = 16;   ///< at least 4
};

/// Draws every host of `named`. Hosts without ranks that look the same share a row. Hosts with
/// ranks get a row each if there are few; else neighbours that look the same share one; else all
/// that look the same. Hosts that still do not fit become one row with `is_rest`.
ClusterPicture draw_cluster(const PictureSubject& subject);

}  // namespace train
