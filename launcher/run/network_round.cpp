// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/network_round.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "config_schema/hosts/host_address.hpp"

namespace train {
namespace {

// How many hosts have an address or a network.
using Counts = std::unordered_map<std::string_view, int>;

struct Shared {
  Counts addresses;
  Counts networks;
};

Shared count_shared(const std::vector<NetworkRound::OfHost>& hosts) {
  Shared shared;
  for (const NetworkRound::OfHost& host : hosts) {
    std::set<std::string_view> addresses;
    std::set<std::string_view> networks;
    for (const NetworkAddress& each : host.networks.addresses) {
      if (addresses.insert(each.address).second) ++shared.addresses[each.address];
      if (networks.insert(each.network).second) ++shared.networks[each.network];
    }
  }
  return shared;
}

// Indices of the addresses of a host that may be chosen, the best first.
std::vector<int> order_of(const NetworkRound::OfHost& host, const Shared& shared) {
  struct Ranked {
    std::tuple<bool, bool, int, int, bool> worth;
    int address;
  };
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < host.networks.addresses.size(); ++i) {
    const NetworkAddress& each = host.networks.addresses[i];
    const auto first = host.networks.addresses.begin();
    const auto is_same = [&](const auto& other) { return other.address == each.address; };
    const bool is_again = std::any_of(first, first + static_cast<std::ptrdiff_t>(i),
                                      is_same);  // tun0 may have the address of eth0
    if (is_again || shared.addresses.at(each.address) > 1) continue;
    ranked.push_back({{!each.is_virtual, each.has_rdma, each.speed,
                       shared.networks.at(each.network), each.address == host.reached_at},
                      static_cast<int>(i)});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.worth > b.worth; });
  std::vector<int> order;
  order.reserve(ranked.size());
  for (const Ranked& each : ranked) order.push_back(each.address);
  return order;
}

bool is_numeric(const std::string& address) {
  return is_ipv6_address(address) || (address.find_first_not_of("0123456789.") == address.npos &&
                                      address.find('.') != address.npos);
}

// Adds the address by which the launcher reaches a host to the host's own addresses, if no other
// host is reached by it.
void add_reached(std::vector<NetworkRound::OfHost>& hosts) {
  std::unordered_map<std::string, int> reached;
  for (const NetworkRound::OfHost& host : hosts) ++reached[host.reached_at];
  for (NetworkRound::OfHost& host : hosts) {
    std::vector<NetworkAddress>& addresses = host.networks.addresses;
    const auto is_it = [&](const auto& each) { return each.address == host.reached_at; };
    const bool is_own = std::any_of(addresses.begin(), addresses.end(), is_it);
    if (!is_own && is_numeric(host.reached_at) && reached[host.reached_at] == 1)
      addresses.push_back({{}, host.reached_at, {}, 0, true});
  }
}

std::string words_of(ProbeAnswer reach) {
  switch (reach) {
    case ProbeAnswer::refused:
      return "refuses";
    case ProbeAnswer::unreachable:
      return "has no way there";
    case ProbeAnswer::no_answer:
      return "does not answer";
    case ProbeAnswer::stalled:
      return "answers, and loses large packets or is slow";
    case ProbeAnswer::stranger:
      return "ends connections, or is another machine's";
    case ProbeAnswer::untried:
    case ProbeAnswer::reached:
      break;
  }
  return "was not tried";
}

}  // namespace

void NetworkRound::begin(std::vector<OfHost> hosts, Instant now) {
  has_begun_ = true;
  hosts_.resize(hosts.size());
  add_reached(hosts);
  const Shared shared = count_shared(hosts);
  for (std::size_t host = 0; host < hosts.size(); ++host)
    if (hosts[host].networks.probe_port != 0) hosts_[host].order = order_of(hosts[host], shared);
  for (std::size_t host = 0; host < hosts.size(); ++host)
    hosts_[host].about = std::move(hosts[host]);
  ask(false, now);
}

// The first host, the next and the previous one, as far as they can be probed and have no choice
// yet.
std::vector<int> NetworkRound::targets_of(int host) const {
  const int count = static_cast<int>(hosts_.size());
  std::vector<int> targets;
  for (const int target : {0, (host + 1) % count, (host + count - 1) % count}) {
    const bool is_new = std::find(targets.begin(), targets.end(), target) == targets.end();
    const Host& other = hosts_[static_cast<std::size_t>(target)];
    if (target != host && is_new && !other.order.empty() && !other.choice)
      targets.push_back(target);
  }
  return targets;
}

void NetworkRound::ask(bool is_thorough, Instant now) {
  was_thorough_ = is_thorough;
  asked_.clear();
  for (Host& host : hosts_)
    if (!host.choice) host.looks.clear();
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const std::vector<int> targets = targets_of(host);
    const bool is_able = hosts_[static_cast<std::size_t>(host)].about.networks.probe_port != 0;
    if (targets.empty() || !is_able) continue;
    message::Probe probe{{}, is_thorough};
    for (const int target : targets) {
      const Host& other = hosts_[static_cast<std::size_t>(target)];
      const HostNetworks& networks = other.about.networks;
      ProbeTarget& asked = probe.targets.emplace_back(
          ProbeTarget{target, {}, networks.probe_port, networks.probe_token});
      for (const int address : other.order)
        asked.addresses.push_back(networks.addresses[static_cast<std::size_t>(address)].address);
    }
    asked_[host] = std::move(probe);
    ask_again(host, now);
  }
}

void NetworkRound::ask_again(int host, Instant now) {
  waits_for_[host] = now;
  actions_.push_back({host, asked_.at(host)});
}

bool NetworkRound::answered(int host, const std::vector<ProbeResult>& results, Instant now) {
  const std::vector<ProbeTarget>& targets = asked_.at(host).targets;
  bool is_answer = results.size() == targets.size();
  for (std::size_t i = 0; is_answer && i < results.size(); ++i)
    is_answer = results[i].host == targets[i].host &&
                results[i].addresses.size() == targets[i].addresses.size();
  if (!is_answer) return false;
  for (const ProbeResult& result : results)
    hosts_[static_cast<std::size_t>(result.host)].looks.push_back({host, result.addresses});
  waits_for_.erase(host);
  if (waits_for_.empty()) choose(now);
  return true;
}

bool NetworkRound::is_reached_by_all(const Host& host, std::size_t address) const {
  return std::all_of(host.looks.begin(), host.looks.end(), [&](const Looked& look) {
    return look.addresses[address] == ProbeAnswer::reached;
  });
}

// The probing hosts need not have waited for the same addresses: if they agree on none, they probe
// once more, and wait for all.
void NetworkRound::choose(Instant now) {
  bool is_any_open = false;
  for (Host& host : hosts_) {
    if (host.choice || host.looks.empty()) continue;
    for (std::size_t i = 0; i < host.order.size() && !host.choice; ++i)
      if (is_reached_by_all(host, i)) host.choice = host.order[i];
    is_any_open = is_any_open || !host.choice;
  }
  if (is_any_open && !was_thorough_) ask(true, now);
}

std::vector<int> NetworkRound::silent(Instant now) const {
  std::vector<int> silent;
  for (const auto& [host, since] : waits_for_)
    if (now - since >= timing_.answer_limit) silent.push_back(host);
  return silent;
}

std::optional<Instant> NetworkRound::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [host, since] : waits_for_)
    if (!next || since + timing_.answer_limit < *next) next = since + timing_.answer_limit;
  return next;
}

const NetworkAddress* NetworkRound::chosen(int host) const {
  if (!has_begun_) return nullptr;
  const Host& each = hosts_[static_cast<std::size_t>(host)];
  if (!each.choice) return nullptr;
  return &each.about.networks.addresses[static_cast<std::size_t>(*each.choice)];
}

bool NetworkRound::is_best(int host) const {
  const NetworkAddress* const best = chosen(host);
  if (best == nullptr || best->is_virtual) return true;
  const auto& all = hosts_[static_cast<std::size_t>(host)].about.networks.addresses;
  const auto alike = std::count_if(all.begin(), all.end(), [&](const NetworkAddress& each) {
    return !each.is_virtual && each.has_rdma == best->has_rdma && each.speed == best->speed;
  });
  return alike <= 1;
}

std::string NetworkRound::words_of(const Host& host, const Looked& look) const {
  constexpr int most_listed = 4;
  int told = 0;
  std::string words;
  for (std::size_t i = 0; i < look.addresses.size(); ++i) {
    if (look.addresses[i] == ProbeAnswer::reached || ++told > most_listed) continue;
    const NetworkAddress& each =
        host.about.networks.addresses[static_cast<std::size_t>(host.order[i])];
    words += fmt::format("{}{}{} {}", words.empty() ? "" : ", ", each.address,
                         each.interface.empty() ? "" : fmt::format(" ({})", each.interface),
                         train::words_of(look.addresses[i]));
  }
  const auto reached =
      std::count(look.addresses.begin(), look.addresses.end(), ProbeAnswer::reached);
  if (reached > 0) words += ", and what it reaches others do not";
  return words;
}

std::optional<Error> NetworkRound::obstacle() const {
  constexpr std::size_t most_pairs = 4;
  Error error{ErrorClass::host, {}};
  std::size_t pairs = 0;
  for (const Host& host : hosts_) {
    if (host.choice || host.looks.empty()) continue;
    for (const Looked& look : host.looks) {
      if (std::count(look.addresses.begin(), look.addresses.end(), ProbeAnswer::reached) ==
          static_cast<std::ptrdiff_t>(look.addresses.size()))
        continue;
      if (++pairs > most_pairs) continue;
      error.diagnostics.push_back({{},
                                   {},
                                   fmt::format("'{}' does not reach '{}': {}",
                                               hosts_[static_cast<std::size_t>(look.by)].about.name,
                                               host.about.name, words_of(host, look)),
                                   {}});
    }
  }
  if (pairs == 0) return std::nullopt;
  if (pairs > most_pairs)
    error.diagnostics.push_back(
        {{}, {}, fmt::format("and {} more pairs of hosts", pairs - most_pairs), {}});
  error.diagnostics.back().hint =
      "let ranks connect to any port of each other's hosts, or name a network that they share as "
      "'interface' in the hosts file; 'network: none' starts them without this check";
  return error;
}

}  // namespace train
