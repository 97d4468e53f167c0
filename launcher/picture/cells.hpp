// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"

namespace train {

/// Holders with a letter of their own.
inline constexpr int marked_holders = 26;

/// What stands for a holder in a cell: "a" for the first, ..., "z"; "#" for all after it.
std::string holder_mark(int holder);

/// Who is in a cell: the rank ("7") or ranks ("0-3") that use it, counted from `first_rank`, or "*"
/// where ranks are scattered; the marks of those who hold it; "0+a" when it is shared. Empty where
/// the slot is free.
std::string cell_names(const SlotRun& run, std::optional<int> first_rank);

/// The same for text: "." where it is free; "-" where it was left out; "0+." where there is room
/// for another rank.
std::string cell_label(const SlotRun& run, std::optional<int> first_rank);

/// "0-127", "7".
std::string rank_range(int first, int count);

/// The hosts of a row, in at most this many columns: "node[01-16]".
std::string row_label(const PictureRow& row, std::size_t columns);

/// What stands beside the cells of a row, in pieces of which each may be left out: the ranks of its
/// later hosts ("then 8-15, ..., 120-127"), and the notes of its look.
std::vector<std::string> row_remarks(const PictureRow& row);

/// The runs of a host with more slots than there is room for. Where these are more than `most`,
/// neighbouring ranks are joined to one run ("0-127"); empty where that is not enough.
std::vector<SlotRun> coarse_runs(const HostLook& look, std::size_t most);

/// Shares `room` columns among runs in proportion to their slots, but gives run i at least
/// `least[i]`. Empty when there is no room for that.
std::vector<std::size_t> share_columns(const std::vector<SlotRun>& runs,
                                       const std::vector<std::size_t>& least, std::size_t room);

}  // namespace train
