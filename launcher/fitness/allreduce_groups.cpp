// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/allreduce_groups.hpp"

#include <algorithm>
#include <map>

namespace train {

namespace {

constexpr int most_rounds = 3;
constexpr std::size_t most_second_looks = 8;

}  // namespace

std::vector<std::vector<int>> groups_of_hosts(const std::vector<int>& host_of_rank) {
  std::map<int, std::vector<int>> ranks;
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank)
    ranks[host_of_rank[rank]].push_back(static_cast<int>(rank));
  std::vector<std::vector<int>> groups;
  groups.reserve(ranks.size());
  for (auto& [host, of_host] : ranks) groups.push_back(std::move(of_host));
  return groups;
}

std::vector<int> ranks_of(const std::vector<int>& hosts, const std::vector<int>& host_of_rank) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank)
    if (std::find(hosts.begin(), hosts.end(), host_of_rank[rank]) != hosts.end())
      ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::vector<std::vector<int>> groups_of_pairs(const std::vector<std::pair<int, int>>& pairs,
                                              const std::vector<int>& host_of_rank) {
  std::vector<std::vector<int>> groups;
  groups.reserve(pairs.size());
  for (const auto& [one, other] : pairs) groups.push_back(ranks_of({one, other}, host_of_rank));
  return groups;
}

std::vector<int> hosts_of(const AllReduceGroup& group, const std::vector<int>& host_of_rank) {
  std::vector<int> hosts;
  for (const int rank : group.members)
    hosts.push_back(host_of_rank.at(static_cast<std::size_t>(rank)));
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

std::vector<int> able_hosts(const std::vector<AllReduceGroup>& groups,
                            const std::vector<int>& host_of_rank) {
  std::vector<int> able;
  for (const AllReduceGroup& group : groups) {
    const std::vector<int> hosts = hosts_of(group, host_of_rank);
    if (hosts.size() == 1 && group.troubles.empty()) able.push_back(hosts.front());
  }
  return able;
}

std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(const std::vector<int>& hosts) {
  std::vector<std::vector<std::pair<int, int>>> rounds;
  const int count = static_cast<int>(hosts.size());
  if (count < 3) return rounds;
  for (int round = 0; round < std::min(most_rounds, link_rounds(count)); ++round) {
    std::vector<std::pair<int, int>> pairs = link_round(round, count);
    for (auto& [one, other] : pairs) {
      one = hosts[static_cast<std::size_t>(one)];
      other = hosts[static_cast<std::size_t>(other)];
    }
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

std::vector<LinkFacts> pairs_as_links(const std::vector<AllReduceGroup>& groups,
                                      const std::vector<int>& host_of_rank) {
  std::vector<LinkFacts> links;
  if (able_hosts(groups, host_of_rank).size() < 3) return links;
  for (const AllReduceGroup& group : groups) {
    const std::vector<int> hosts = hosts_of(group, host_of_rank);
    if (hosts.size() != 2) continue;
    LinkFacts link;
    link.from = hosts[0];
    link.to = hosts[1];
    if (group.troubles.empty())
      link.there = link.back = static_cast<std::uint64_t>(best_of(group.report).rate);
    else
      link.trouble = group.troubles.begin()->second;
    const auto before = std::find_if(links.begin(), links.end(), [&](const LinkFacts& each) {
      return each.from == link.from && each.to == link.to;
    });
    if (before == links.end()) {
      links.push_back(std::move(link));
      continue;
    }
    if (before->pace() < link.pace()) *before = std::move(link);
    before->is_alone = true;
  }
  return links;
}

std::vector<std::pair<int, int>> slow_pairs(const std::vector<AllReduceGroup>& groups,
                                            const std::vector<int>& host_of_rank) {
  const std::vector<LinkFacts> links = pairs_as_links(groups, host_of_rank);
  const LinkStandard standard = standard_of(links);
  std::vector<std::pair<int, int>> pairs;
  for (const LinkFacts& link : links)
    if (carries_little(link, standard) && pairs.size() < most_second_looks)
      pairs.emplace_back(link.from, link.to);
  return pairs;
}

bool have_all_measured(const std::vector<AllReduceGroup>& groups, const std::vector<int>& hosts,
                       const std::vector<int>& host_of_rank) {
  return std::none_of(groups.begin(), groups.end(), [&](const AllReduceGroup& group) {
    if (group.troubles.empty()) return false;
    const std::vector<int> own = hosts_of(group, host_of_rank);
    return std::includes(hosts.begin(), hosts.end(), own.begin(), own.end());
  });
}

BusBandwidth best_of(const AllReduceReport& report) {
  BusBandwidth best;
  for (const AllReduceTime& time : report.times) {
    const double rate = bus_bandwidth(time.bytes, time.time, report.world);
    if (rate >= best.rate) best = {time.bytes, rate};
  }
  return best;
}

}  // namespace train
