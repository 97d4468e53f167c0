// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/link_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace train {

namespace {

constexpr const char* cable_hint =
    "look at cable, port and duplex of its interface ('ethtool'), its MTU, and what else uses it";

/// Links of which each has two ranks, and what is found at them.
class LinkJudge {
 public:
  LinkJudge(const LinkCheck& check, const std::vector<CheckedHost>& hosts)
      : check_(check), hosts_(hosts), standard_(standard_of(check.links)) {
    for (const LinkFacts& link : check.links)
      for (const int rank : {link.from, link.to}) {
        OfRank& of = ranks_[rank];
        ++of.all;
        of.slow += is_slow(link, standard_) ? 1 : 0;
        of.mute += link.trouble.empty() ? 0 : 1;
        of.worst.push_back(&link);
      }
  }

  std::vector<HostFinding> judge() {
    if (check_.hosts.size() < 2) return {};
    std::vector<const LinkFacts*> others;  // slow by themselves
    std::vector<const LinkFacts*> beside;  // slow while others measured, and not looked at again
    for (const LinkFacts& link : check_.links) {
      if (!link.trouble.empty()) {
        if (!is_blamed(link.from) && !is_blamed(link.to)) not_reached(link);
      } else if (check_.hosts.size() > 2 && is_slow(link, standard_) && !is_blamed(link.from) &&
                 !is_blamed(link.to)) {
        (link.is_alone ? others : beside).push_back(&link);
      }
    }
    for (const auto& [rank, of] : ranks_)
      if (is_blamed(rank)) blame(rank, of);
    if (others.size() > check_.hosts.size())
      beside.insert(beside.end(), others.begin(), others.end());
    else
      for (const LinkFacts* link : others) slow(*link);
    if (!beside.empty()) note_structure(beside);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const HostFinding& a, const HostFinding& b) { return a.host < b.host; });
    return std::move(found_);
  }

 private:
  struct OfRank {
    int all = 0;
    int slow = 0;
    int mute = 0;
    std::vector<const LinkFacts*> worst;
  };

  static bool is_mostly_slow(const OfRank& of) { return of.slow >= 2 && 3 * of.slow >= 2 * of.all; }
  // Where most hosts were to blame it is none of them.
  bool is_blamed(int rank) const {
    if (check_.hosts.size() < 3 || !is_mostly_slow(ranks_.at(rank))) return false;
    const auto slow = std::count_if(ranks_.begin(), ranks_.end(),
                                    [](const auto& each) { return is_mostly_slow(each.second); });
    return 2 * static_cast<std::size_t>(slow) <= check_.hosts.size();
  }
  std::size_t host_of(int rank) const { return check_.hosts[static_cast<std::size_t>(rank)]; }
  const std::string& name_of(int rank) const { return hosts_[host_of(rank)].host.name; }
  void add(int rank, Fitness fitness, std::string message, std::string hint) {
    found_.push_back({host_of(rank), fitness, "link", std::move(message), std::move(hint)});
  }

  // What is slow of it, and what others have.
  std::string words_of(const LinkFacts& link) const {
    if (carries_little(link, standard_))
      return fmt::format("carries {}, where most hosts have {}", pace_text(link.pace()),
                         pace_text(standard_.pace));
    return fmt::format("has a round trip of {}, where most hosts have {}",
                       round_trip_text(link.round_trip), round_trip_text(standard_.round_trip));
  }

  void blame(int rank, const OfRank& of) {
    if (of.mute == of.all)
      return add(rank, Fitness::unfit,
                 fmt::format("no other host exchanges data with it: {}", of.worst.front()->trouble),
                 "look for a firewall between it and the others");
    // The median of its links.
    std::vector<const LinkFacts*> measured;
    for (const LinkFacts* link : of.worst)
      if (link->trouble.empty()) measured.push_back(link);
    std::sort(measured.begin(), measured.end(),
              [](const auto* a, const auto* b) { return a->pace() < b->pace(); });
    add(rank, Fitness::unfit,
        fmt::format("its link to others {}", words_of(*measured[measured.size() / 2])), cable_hint);
  }

  void slow(const LinkFacts& link) {
    add(link.to, Fitness::unfit,
        fmt::format("its link to {} {}", name_of(link.from), words_of(link)),
        "others of both hosts are not slow: look at the switches and routes between these two "
        "('tracepath')");
  }

  void not_reached(const LinkFacts& link) {
    add(link.to, Fitness::unfit,
        fmt::format("no data goes between it and {}: {}", name_of(link.from), link.trouble),
        "look for a firewall between the two, or packets that are too large for a link "
        "('tracepath')");
  }

  void note_structure(const std::vector<const LinkFacts*>& links) {
    const auto slowest =
        *std::min_element(links.begin(), links.end(),
                          [](const auto* a, const auto* b) { return a->pace() < b->pace(); });
    add(slowest->to, Fitness::fit,
        fmt::format("{} of {} links are slow, as between racks: that to {} {}", links.size(),
                    check_.links.size(), name_of(slowest->from), words_of(*slowest)),
        "resources.placement=pack keeps ranks together");
  }

  const LinkCheck& check_;
  const std::vector<CheckedHost>& hosts_;
  const LinkStandard standard_;
  std::map<int, OfRank> ranks_;
  std::vector<HostFinding> found_;
};

}  // namespace

std::vector<HostFinding> judge_links(const LinkCheck& check,
                                     const std::vector<CheckedHost>& hosts) {
  return LinkJudge(check, hosts).judge();
}

std::string pace_text(std::uint64_t bytes_per_second) {
  const double bits = static_cast<double>(bytes_per_second) * 8;
  if (bits >= 1e9) return fmt::format("{:.1f} Gbit/s", bits / 1e9);
  if (bits >= 1e6) return fmt::format("{:.1f} Mbit/s", bits / 1e6);
  return fmt::format("{:.0f} kbit/s", bits / 1e3);
}

std::string round_trip_text(nanoseconds round_trip) {
  const double us = static_cast<double>(round_trip.count()) / 1e3;
  return us < 1'000 ? fmt::format("{:.0f} us", us) : fmt::format("{:.1f} ms", us / 1e3);
}

}  // namespace train
