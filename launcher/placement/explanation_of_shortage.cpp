// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/hosts/host_set.hpp"
#include "launcher/placement/whole_hosts.hpp"

namespace train {

std::string Explanation::shortage_reason() const {
  if (rule_.is_one_host()) return one_host_reason();
  if (rule_.policy == PlacementPolicy::strict_spread) return strict_spread_reason();
  const std::string noun = counts_slots_ ? "" : "room for ";
  const std::string sum = fmt::format("{}", total());
  if (search_.eligible.size() == 1 && counts_slots_)
    return fmt::format("{}, {} {}", asked(), subject("has", "have"),
                       room(search_.eligible.front()).workers == 0 ? "none" : sum);
  if (search_.eligible.size() == 1)
    return fmt::format("{}, {} room for {}", asked(), subject("has", "have"),
                       room_of(search_.eligible.front()));
  return fmt::format("{}, {} {}{}: {}", asked(), subject("has", "have"), noun,
                     total() == 0 ? "none" : sum, room_of_all());
}

std::string Explanation::one_host_reason() const {
  const char* why = rule_.is_single_node ? "is_single_node" : "placement: strict_pack";
  int best = search_.eligible.front();
  for (const int index : search_.eligible)
    if (room(index).workers > room(best).workers) best = index;
  if (search_.eligible.size() == 1)
    return fmt::format("{} on one host ({}), {} has {}{}", asked(), why, host(best).name,
                       counts_slots_ ? "" : "room for ", room_of(best));
  return fmt::format("{} on one host ({}), the largest, {}, has {}{}; the {} hosts: {}", asked(),
                     why, host(best).name, counts_slots_ ? "" : "room for ", room_of(best),
                     search_.eligible.size(), room_of_all());
}

std::string Explanation::strict_spread_reason() const {
  if (rule_.is_single_node && experiment_.workers > 1)
    return fmt::format(
        "{} workers on one host (is_single_node) and one on each host (placement: strict_spread) "
        "exclude each other",
        experiment_.workers);
  std::vector<std::string> usable;
  for (const int index : search_.eligible)
    if (room(index).workers > 0) usable.push_back(host(index).name);
  const std::string share_text = share();
  return fmt::format(
      "{} asked, one on each host (placement: strict_spread), {} of {} can take one{}{}",
      counted(fmt::format("{}", experiment_.workers), "worker"),
      usable.empty() ? "none" : fmt::format("{}", usable.size()),
      counted(fmt::format("{}", search_.eligible.size()), "host"),
      share_text.empty() ? "" : fmt::format(" of {}", share_text),
      usable.empty() ? "" : ": " + summarize_hosts(usable));
}

// Enough in all, but not in whole hosts.
std::string Explanation::policy_reason() const {
  std::map<int, int, std::greater<>> whole;
  int largest = 0;
  int rest = 0;
  for (const int index : search_.eligible) {
    largest = std::max(largest, room(index).workers);
    if (room(index).is_whole())
      ++whole[room(index).fill];
    else
      ++rest;
  }
  const char* noun = experiment_.needs.slots == Quantity::of(1) ? "slot" : "worker";
  const std::string mixed = rule_.allow_heterogeneous ? "any sizes" : "one size";
  std::vector<SizeGroup> groups;
  groups.reserve(whole.size());
  for (const auto& [size, hosts] : whole) groups.push_back({size, hosts});
  const bool is_tried = !rule_.allow_heterogeneous || is_searchable(groups, experiment_.workers);
  return fmt::format(
      "{} asked: the largest host has room for {}, and whole hosts of {} do not make {} ({}){}",
      counted(fmt::format("{}", experiment_.workers), noun), largest, mixed, experiment_.workers,
      fmt::join(sizes_text(whole, rest), ", "),
      is_tried ? "" : "; too many sizes and slots to try every mixture");
}

// Per size why its hosts do not make up the request.
std::vector<std::string> Explanation::sizes_text(const std::map<int, int, std::greater<>>& whole,
                                                 int rest) const {
  std::vector<std::string> parts;
  constexpr std::size_t most_sizes = 6;
  const int asked_for = experiment_.workers;
  for (const auto& [size, hosts] : whole) {
    if (parts.size() == most_sizes) break;
    parts.push_back(fmt::format("{} of {}", counted(fmt::format("{}", hosts), "host"), size));
    const std::int64_t sum = std::int64_t{size} * hosts;
    if (rule_.allow_heterogeneous) continue;
    parts.back() += asked_for % size != 0
                        ? fmt::format(": {} is no multiple", asked_for)
                        : fmt::format(": {} in all, {} too few", sum, asked_for - sum);
  }
  if (whole.size() > most_sizes)
    parts.push_back(fmt::format("{} more sizes", whole.size() - most_sizes));
  if (rest > 0)
    parts.push_back(
        fmt::format("{} that cannot be used wholly", counted(fmt::format("{}", rest), "host")));
  return parts;
}

}  // namespace train
