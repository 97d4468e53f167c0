// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// The number of holders that have their own letter.
inline constexpr int marked_holders = 26;

/// The mark of a holder in a cell: "a" for the first, ..., "z"; "#" for all later ones.
std::string holder_mark(int holder);

/// The contents of a cell: the rank ("7") or ranks ("0-3") that use it, counted from `first_rank`,
/// or "*" if ranks are scattered; the marks of its holders; "0+a" if it is shared. Empty if the
/// slot is free.
std::string cell_names(const SlotRun& run, std::optional<int> first_rank);

/// The same for text: "." if it is free; "-" if it was left out; "0+." if there is room for another
/// rank.
std::string cell_label(const SlotRun& run, std::optional<int> first_rank);

/// "0-127", "7".
std::string rank_range(int first, int count);

/// The hosts of a row, in at most this many columns: "node[01-16]".
std::string row_label(const PictureRow& row, std::size_t columns);

/// The remarks beside the cells of a row, as parts that can each be left out: the ranks of its
/// later hosts ("then 8-15, ..., 120-127"), and the notes of its look.
std::vector<std::string> row_remarks(const PictureRow& row);

/// The runs of a host with more slots than fit. If there are more runs than `most`, neighbouring
/// ranks are joined to one run ("0-127"); empty if that is not enough.
std::vector<SlotRun> coarse_runs(const HostLook& look, std::size_t most);

/// Divides `room` columns among runs in proportion to their slots, with at least `least[i]` for run
/// i. Empty if there is not enough room.
std::vector<std::size_t> share_columns(const std::vector<SlotRun>& runs,
                                       const std::vector<std::size_t>& least, std::size_t room);

}  // namespace train
