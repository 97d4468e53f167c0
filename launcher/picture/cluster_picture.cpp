// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/cluster_picture.hpp"

#include <unordered_map>
#include <utility>

#include "launcher/picture/host_look.hpp"
#include "launcher/picture/row_fold.hpp"

namespace train {
namespace {

using UsesOfHosts = std::unordered_map<std::string_view, std::vector<const HostUse*>>;

UsesOfHosts uses_by_host(const Occupancy& occupancy) {
  UsesOfHosts uses;
  for (const HostUse& use : occupancy) uses[use.host].push_back(&use);
  return uses;
}

}  // namespace

ClusterPicture draw_cluster(const PictureSubject& subject) {
  const UsesOfHosts uses = uses_by_host(subject.occupancy);
  const Trial& trial = subject.plan.trial;
  HostLooks looks(subject.plan, subject.usable);
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
    PictureRow row{.hosts = {host.name}, .look = looks.look_of(scene), .first_rank = {}};
    if (has_ranks) row.first_rank = planned->first_rank;
    rows.push_back(std::move(row));
    if (has_ranks) ++planned;
    if (is_usable) ++usable;
  }
  return {fold_rows(rows, subject.most_rows), looks.take_holders()};
}

}  // namespace train
