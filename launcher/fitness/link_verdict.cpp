// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/link_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace train {

namespace {

constexpr LinkWords tcp_words = {
    "link",
    "its link to {}",
    "no data goes between it and {}",
    "no other host exchanges data with it",
    "look at cable, port and duplex of its interface ('ethtool'), its MTU, and what else uses it",
    "others of both hosts are not slow: look at the switches and routes between these two "
    "('tracepath')",
    "look for a firewall between the two, or packets that are too large for a link ('tracepath')",
    "look for a firewall between it and the others",
    pace_text};

/// Links between two ranks each, and the findings about them.
class LinkJudge {
 public:
  LinkJudge(const LinkCheck& check, const std::vector<CheckedHost>& hosts, const LinkWords& words)
      : check_(check), hosts_(hosts), words_(words), standard_(standard_of(check.links)) {
    for (const LinkFacts& link : check.links)
      for (const int rank : {link.from, link.to}) {
        OfRank& of = ranks_[rank];
        of.slow += is_slow(link, standard_) ? 1u : 0u;
        of.mute += link.trouble.empty() ? 0u : 1u;
        of.links.push_back(&link);
      }
    // If more than half of the hosts would be blamed, none is.
    std::vector<OfRank*> slow;
    for (auto& [rank, of] : ranks_)
      if (of.slow >= 2 && 3 * of.slow >= 2 * of.links.size()) slow.push_back(&of);
    if (check.hosts.size() < 3 || 2 * slow.size() > check.hosts.size()) return;
    for (OfRank* of : slow) of->is_blamed = true;
  }

  std::vector<HostFinding> judge() {
    if (check_.hosts.size() < 2) return {};
    std::vector<const LinkFacts*> others;  // slow when measured alone
    std::vector<const LinkFacts*> beside;  // slow while others measured, and not measured again
    for (const LinkFacts& link : check_.links) {
      if (is_of_blamed(link)) continue;
      if (!link.trouble.empty())
        not_reached(link);
      else if (check_.hosts.size() > 2 && is_slow(link, standard_))
        (link.is_alone ? others : beside).push_back(&link);
    }
    for (const auto& [rank, of] : ranks_)
      if (of.is_blamed) blame(rank, of);
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
    std::vector<const LinkFacts*> links;
    std::size_t slow = 0;
    std::size_t mute = 0;
    bool is_blamed = false;
  };

  bool is_of_blamed(const LinkFacts& link) const {
    return ranks_.at(link.from).is_blamed || ranks_.at(link.to).is_blamed;
  }
  const std::string& name_of(int rank) const { return hosts_[check_.host_of(rank)].host.name; }
  void add(int rank, Fitness fitness, std::string message, std::string hint) {
    found_.push_back(
        {check_.host_of(rank), fitness, words_.check, std::move(message), std::move(hint)});
  }

  std::string named(std::string_view other) const {
    return fmt::format(fmt::runtime(words_.link), other);
  }
  // What is slow about the link, and the usual value.
  std::string words_of(const LinkFacts& link) const {
    if (carries_little(link, standard_))
      return fmt::format("carries {}, where most hosts have {}", words_.rate(link.pace()),
                         words_.rate(standard_.pace));
    return fmt::format("has a round trip of {}, where most hosts have {}",
                       round_trip_text(link.round_trip), round_trip_text(standard_.round_trip));
  }

  void blame(int rank, const OfRank& of) {
    if (of.mute == of.links.size())
      return add(rank, Fitness::unfit,
                 fmt::format("{}: {}", words_.nothing_with_others, of.links.front()->trouble),
                 words_.nothing_with_others_hint);
    // The medians of its links.
    std::vector<const LinkFacts*> measured;
    for (const LinkFacts* link : of.links)
      if (link->trouble.empty()) measured.push_back(link);
    std::sort(measured.begin(), measured.end(),
              [](const auto* a, const auto* b) { return a->pace() < b->pace(); });
    add(rank, Fitness::unfit,
        fmt::format("{} {}", named("others"), words_of(*measured[measured.size() / 2])),
        words_.host_hint);
  }

  void slow(const LinkFacts& link) {
    add(link.to, Fitness::unfit, fmt::format("{} {}", named(name_of(link.from)), words_of(link)),
        words_.pair_hint);
  }

  void not_reached(const LinkFacts& link) {
    add(link.to, Fitness::unfit,
        fmt::format("{}: {}", fmt::format(fmt::runtime(words_.nothing), name_of(link.from)),
                    link.trouble),
        words_.nothing_hint);
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
  const LinkWords& words_;
  const LinkStandard standard_;
  std::map<int, OfRank> ranks_;
  std::vector<HostFinding> found_;
};

}  // namespace

std::vector<HostFinding> judge_links(const LinkCheck& check,
                                     const std::vector<CheckedHost>& hosts) {
  return judge_links(check, hosts, tcp_words);
}
std::vector<HostFinding> judge_links(const LinkCheck& check, const std::vector<CheckedHost>& hosts,
                                     const LinkWords& words) {
  return LinkJudge(check, hosts, words).judge();
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
