// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/cluster_picture.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "launcher/picture/host_drawing.hpp"

namespace train {
namespace {

enum class FoldUsed {
  none,        // one row for each host with ranks
  neighbours,  // joins neighbours of the same look: their ranks are consecutive
  all,         // joins all of the same look: their ranks may be scattered
};

bool is_used(const PictureRow& row) { return row.look.ranks > 0; }

struct LookOrder {
  bool operator()(const HostLook* left, const HostLook* right) const { return *left < *right; }
};

// Folds rows into the first row of the same look. Unused hosts between two used ones do not
// interrupt the sequence of ranks.
std::vector<PictureRow> fold(const std::vector<PictureRow>& rows, FoldUsed how) {
  std::map<const HostLook*, std::size_t, LookOrder> first_of_look;
  std::vector<PictureRow> folded;
  folded.reserve(rows.size());  // keeps the addresses of drawing in the map valid
  std::optional<std::size_t> last_used;
  for (const PictureRow& row : rows) {
    std::optional<std::size_t> target;
    if (!is_used(row) || how == FoldUsed::all) {
      const auto found = first_of_look.find(&row.look);
      if (found != first_of_look.end()) target = found->second;
    } else if (how == FoldUsed::neighbours && last_used && folded[*last_used].look == row.look) {
      target = last_used;
    }
    if (target) {
      PictureRow& into = folded[*target];
      into.hosts.insert(into.hosts.end(), row.hosts.begin(), row.hosts.end());
      if (is_used(row) && target != last_used) into.first_rank.reset();
    } else {
      target = folded.size();
      folded.push_back(row);
      first_of_look.emplace(&folded.back().look, *target);
    }
    if (is_used(row)) last_used = target;
  }
  return folded;
}

// One row that stands for all of these.
PictureRow rest_of(const std::vector<const PictureRow*>& rows) {
  PictureRow rest{.hosts = {}, .look = {}, .first_rank = {}, .is_rest = true};
  for (const PictureRow* row : rows) {
    rest.hosts.insert(rest.hosts.end(), row->hosts.begin(), row->hosts.end());
    rest.look.ranks += row->look.ranks * static_cast<int>(row->hosts.size());
  }
  return rest;
}

// At most `used` rows with ranks and `unused` rows without; the last of each stands for the rest.
std::vector<PictureRow> cut(std::vector<PictureRow> rows, std::size_t used, std::size_t unused) {
  std::vector<PictureRow> kept;
  std::vector<const PictureRow*> left_used;
  std::vector<const PictureRow*> left_unused;
  std::size_t used_count = 0;
  std::size_t unused_count = 0;
  const auto count = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), is_used));
  const std::size_t whole_used = count > used ? used - 1 : used;
  const std::size_t whole_unused = rows.size() - count > unused ? unused - 1 : unused;
  for (const PictureRow& row : rows) {
    const bool fits = is_used(row) ? used_count++ < whole_used : unused_count++ < whole_unused;
    if (fits)
      kept.push_back(row);
    else
      (is_used(row) ? left_used : left_unused).push_back(&row);
  }
  if (!left_used.empty()) kept.push_back(rest_of(left_used));
  if (!left_unused.empty()) kept.push_back(rest_of(left_unused));
  return kept;
}

using UsesOfHosts = std::unordered_map<std::string_view, std::vector<const HostUse*>>;

UsesOfHosts uses_by_host(const Occupancy& occupancy) {
  UsesOfHosts uses;
  for (const HostUse& use : occupancy) uses[use.host].push_back(&use);
  return uses;
}

}  // namespace

// Hosts with ranks get room before others.
std::vector<PictureRow> fold_rows(const std::vector<PictureRow>& rows, std::size_t most) {
  most = std::max<std::size_t>(most, 4);
  std::vector<PictureRow> folded;
  for (const FoldUsed how : {FoldUsed::none, FoldUsed::neighbours, FoldUsed::all}) {
    folded = fold(rows, how);
    if (folded.size() <= most) return folded;
  }
  const auto used = static_cast<std::size_t>(std::count_if(folded.begin(), folded.end(), is_used));
  const std::size_t unused = folded.size() - used;
  const std::size_t for_unused = std::min(unused, std::max(most / 4, most - std::min(most, used)));
  return cut(std::move(folded), most - for_unused, for_unused);
}

ClusterPicture draw_cluster(const PictureSubject& subject) {
  const UsesOfHosts uses = uses_by_host(subject.occupancy);
  const Trial& trial = subject.plan.trial;
  HostDrawing drawing(subject.plan, subject.usable);
  std::vector<PictureRow> rows;
  rows.reserve(subject.named.hosts.size());
  auto usable = subject.usable.hosts.begin();
  auto planned = trial.hosts.begin();
  for (const Host& named : subject.named.hosts) {
    const bool is_usable = usable != subject.usable.hosts.end() && usable->name == named.name;
    const Host& host = is_usable ? *usable : named;
    const bool has_ranks =
        is_usable && planned != trial.hosts.end() && planned->host.name == host.name;
    const auto found = uses.find(host.name);
    const HostScene scene{.host = host,
                          .planned = has_ranks ? &*planned : nullptr,
                          .is_left_out = !is_usable,
                          .uses = found == uses.end() ? nullptr : &found->second};
    PictureRow row{.hosts = {host.name}, .look = drawing.look_of(scene), .first_rank = {}};
    if (has_ranks) row.first_rank = planned->first_rank;
    rows.push_back(std::move(row));
    if (has_ranks) ++planned;
    if (is_usable) ++usable;
  }
  return {fold_rows(rows, subject.most_rows), drawing.take_holders()};
}

}  // namespace train
