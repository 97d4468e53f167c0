// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/allreduce_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "config_schema/text/text.hpp"
#include "launcher/fitness/link_verdict.hpp"

namespace train {

namespace {

constexpr double least_part = 0.6;
constexpr std::size_t fewest_alike = 3;
constexpr int sums_of_size = 3;
constexpr const char* nccl_check = "nccl";

constexpr const char* meeting_hint =
    "NCCL_DEBUG=INFO shows over which addresses they meet; 'train check --full' tries TCP alone";

constexpr LinkWords nccl_words = {
    nccl_check,
    "NCCL's all-reduce with {}",
    "NCCL's all-reduce with {} fails",
    "NCCL's all-reduce fails with every other host",
    "NCCL_DEBUG=INFO shows which network NCCL takes there; 'train check --full' measures TCP alone",
    "others of both hosts are not slow: look at the switches and routes between these two",
    meeting_hint,
    meeting_hint,
    rate_text};

/// A measured figure, and the kind of GPUs or hosts that it is compared within.
struct Figure {
  std::string kind;
  std::uint64_t rate = 0;
  int rank = 0;
};

std::uint64_t median_of(std::vector<std::uint64_t> rates) {
  const auto half = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), half, rates.end());
  return *half;
}

// Figures far below those of their kind; each with the median of the kind.
std::vector<std::pair<Figure, std::uint64_t>> low_ones(const std::vector<Figure>& figures) {
  std::map<std::string, std::vector<std::uint64_t>> kinds;
  for (const Figure& figure : figures) kinds[figure.kind].push_back(figure.rate);
  std::vector<std::pair<Figure, std::uint64_t>> low;
  for (const Figure& figure : figures) {
    const auto& rates = kinds[figure.kind];
    if (rates.size() < fewest_alike) continue;
    const std::uint64_t median = median_of(rates);
    if (static_cast<double>(figure.rate) < least_part * static_cast<double>(median))
      low.emplace_back(figure, median);
  }
  return low;
}

int rank_of(const AllReduceGroup& group, int place) {
  return group.members[static_cast<std::size_t>(place)];
}

using GroupList = std::vector<const AllReduceGroup*>;

GroupList groups_of_one_host(const AllReduceCheck& check) {
  GroupList groups;
  for (const AllReduceGroup& group : check.groups)
    if (check.host_count_of(group) == 1) groups.push_back(&group);
  return groups;
}

// The copy rates to GPUs, or from them.
std::vector<Figure> copies_of(const GroupList& of_hosts, std::uint64_t AllReduceRank::*rate) {
  std::vector<Figure> figures;
  for (const AllReduceGroup* group : of_hosts)
    for (const AllReduceRank& rank : group->report.ranks)
      figures.push_back({rank.gpu, rank.*rate, rank_of(*group, rank.rank)});
  return figures;
}

std::vector<Figure> inside_hosts(const GroupList& of_hosts) {
  std::vector<Figure> figures;
  for (const AllReduceGroup* group : of_hosts) {
    if (!group->troubles.empty() || group->report.world < 2) continue;
    std::string kind;
    for (const AllReduceRank& rank : group->report.ranks) kind += rank.gpu + "\n";
    figures.push_back({std::move(kind), static_cast<std::uint64_t>(best_of(group->report).rate),
                       group->members.front()});
  }
  return figures;
}

// The group of all hosts, if there is more than one host.
const AllReduceGroup* group_of_all(const AllReduceCheck& check) {
  const bool are_several = !check.groups.empty() && check.host_count_of(check.groups.back()) > 1;
  const bool are_pairs = are_several && check.host_count_of(check.groups.back()) == 2 &&
                         able_hosts(check.groups, check.host_of_rank).size() > 2;
  return are_several && !are_pairs ? &check.groups.back() : nullptr;
}

class AllReduceJudge {
 public:
  AllReduceJudge(const AllReduceCheck& check, const std::vector<CheckedHost>& hosts)
      : check_(check), hosts_(hosts), of_hosts_(groups_of_one_host(check)) {}

  std::vector<HostFinding> judge() {
    failures();
    wrong_sums();
    versions();
    networks();
    for (const auto& [figure, usual] : low_ones(inside_hosts(of_hosts_)))
      add(figure.rank,
          fmt::format("NCCL's all-reduce inside it carries {}, where most hosts have {}",
                      rate_text(figure.rate), rate_text(usual)),
          "'nvidia-smi nvlink -s' and 'nvidia-smi topo -m' show links that are down");
    slow_copies(&AllReduceRank::to_device, "to");
    slow_copies(&AllReduceRank::from_device, "from");
    for (HostFinding& finding :
         judge_links({check_.hosts, pairs_as_links(check_.groups, check_.host_of_rank)}, hosts_,
                     nccl_words))
      found_.push_back(std::move(finding));
    std::stable_sort(found_.begin(), found_.end(),
                     [](const HostFinding& a, const HostFinding& b) { return a.host < b.host; });
    return std::move(found_);
  }

 private:
  void add(int rank, std::string message, std::string hint) {
    found_.push_back(
        {check_.host_of(rank), Fitness::unfit, nccl_check, std::move(message), std::move(hint)});
  }

  // Failures of single hosts, and of the group of all hosts; pairs are judged as links.
  void failures() {
    constexpr const char* hint =
        "'nvidia-smi' there shows its GPUs; NCCL_DEBUG=INFO has NCCL tell more";
    for (const AllReduceGroup* group : of_hosts_)
      for (const auto& [place, words] : group->troubles) {
        const int rank = rank_of(*group, place);
        add(rank,
            fmt::format("NCCL's all-reduce fails on its GPU {}: {}", check_.gpu_of(rank), words),
            hint);
        break;  // the others usually report a consequence of this one
      }
    const AllReduceGroup* all = group_of_all(check_);
    if (all == nullptr || all->troubles.empty()) return;
    std::set<std::size_t> told;
    for (const auto& [place, words] : all->troubles)
      if (told.insert(check_.host_of(rank_of(*all, place))).second)
        add(rank_of(*all, place),
            fmt::format("NCCL's all-reduce over {} GPUs of {} hosts fails: {}", all->members.size(),
                        check_.host_count_of(*all), all->troubles.begin()->second),
            meeting_hint);
  }

  // A host with wrong sums is reported once; later groups that contain it are skipped.
  void wrong_sums() {
    std::set<int> wrong_hosts;
    for (const AllReduceGroup& group : check_.groups) {
      const std::vector<int> hosts = hosts_of(group, check_.host_of_rank);
      if (std::any_of(hosts.begin(), hosts.end(),
                      [&](int host) { return wrong_hosts.contains(host); }))
        continue;
      for (const AllReduceRank& each : group.report.ranks) {
        if (each.wrong == 0) continue;
        const int rank = rank_of(group, each.rank);
        wrong_hosts.insert(check_.task_host_of(rank));
        add(rank,
            fmt::format("NCCL adds wrong numbers on its GPU {}{}: {} of {} sums",
                        check_.gpu_of(rank), hosts.size() > 1 ? ", together with other hosts" : "",
                        each.wrong, sums_of_size * group.report.times.size()),
            "'nvidia-smi -q -d ECC,ROW_REMAPPER' shows errors of its memory; such a GPU is to be "
            "exchanged");
      }
    }
  }

  void versions() {
    std::map<std::string, std::set<int>> hosts;  // hosts of the task, by version
    for (const AllReduceGroup* group : of_hosts_)
      for (const AllReduceRank& each : group->report.ranks)
        hosts[each.nccl].insert(check_.task_host_of(rank_of(*group, each.rank)));
    if (hosts.size() < 2) return;
    const auto usual = std::max_element(
        hosts.begin(), hosts.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    for (const auto& [version, of] : hosts)
      for (const int host : of)
        if (version != usual->first)
          found_.push_back(
              {check_.hosts[static_cast<std::size_t>(host)], Fitness::unfit, nccl_check,
               fmt::format("it loads NCCL {}, where most hosts load {}", version, usual->first),
               "install the same one everywhere: its ranks do not meet otherwise"});
  }

  // Reports RDMA networks that exist and are not used: sockets are several times slower.
  void networks() {
    std::set<std::size_t> told;
    for (const AllReduceGroup& group : check_.groups) {
      if (check_.host_count_of(group) < 2) continue;
      for (const AllReduceRank& each : group.report.ranks) {
        const std::size_t host = check_.host_of(rank_of(group, each.rank));
        if (each.network == "Socket" && hosts_[host].fitness &&
            !hosts_[host].fitness->rdma.empty() && told.insert(host).second)
          found_.push_back(
              {host, Fitness::fit, nccl_check,
               "NCCL takes TCP between hosts although there are devices for RDMA",
               "it needs libibverbs and locked memory ('ulimit -l'), and NCCL_IB_DISABLE "
               "unset; NCCL_DEBUG=INFO shows why it does not take them"});
      }
    }
  }

  void slow_copies(std::uint64_t AllReduceRank::*rate, const char* direction) {
    for (const auto& [figure, usual] : low_ones(copies_of(of_hosts_, rate)))
      add(figure.rank,
          fmt::format("copies {} its GPU {} run at {}, where most have {}", direction,
                      check_.gpu_of(figure.rank), rate_text(figure.rate), rate_text(usual)),
          "'nvidia-smi -q' shows width and generation of its PCIe link: seat the card anew, or "
          "look at the slot");
  }

  const AllReduceCheck& check_;
  const std::vector<CheckedHost>& hosts_;
  const GroupList of_hosts_;
  std::vector<HostFinding> found_;
};

std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1'024 && unit + 1 < std::size(units); bytes /= 1'024) ++unit;
  return fmt::format("{} {}", bytes, units[unit]);
}

// "23.4 GB/s (slowest WHERE: 22.9 GB/s)".
template <class Where>
std::string spread_text(const std::vector<Figure>& figures, Where where) {
  std::vector<std::uint64_t> rates;
  rates.reserve(figures.size());
  for (const Figure& figure : figures) rates.push_back(figure.rate);
  const auto slowest =
      *std::min_element(figures.begin(), figures.end(),
                        [](const Figure& a, const Figure& b) { return a.rate < b.rate; });
  return fmt::format("{} (slowest {}: {})", rate_text(median_of(std::move(rates))), where(slowest),
                     rate_text(slowest.rate));
}

}  // namespace

std::vector<HostFinding> judge_allreduce(const AllReduceCheck& check,
                                         const std::vector<CheckedHost>& hosts) {
  return AllReduceJudge(check, hosts).judge();
}

std::vector<std::string> allreduce_text(const AllReduceCheck& check,
                                        const std::vector<CheckedHost>& hosts) {
  const auto name = [&](int host) {
    return hosts[check.hosts[static_cast<std::size_t>(host)]].host.name;
  };
  std::vector<std::string> lines;
  const AllReduceGroup* all = group_of_all(check);
  if (all != nullptr && all->troubles.empty()) {
    const BusBandwidth best = best_of(all->report);
    const AllReduceRank& first = all->report.ranks.front();
    const AllReduceTime& least = all->report.times.front();
    lines.push_back(
        fmt::format("NCCL {} over {} GPUs of {} hosts{}: {} bus bandwidth at {}, {} at {}",
                    first.nccl, all->members.size(), check.host_count_of(*all),
                    first.network.empty() ? "" : " by " + first.network,
                    rate_text(static_cast<std::uint64_t>(best.rate)), size_text(best.bytes),
                    round_trip_text(least.time), size_text(least.bytes)));
  }
  const GroupList of_hosts = groups_of_one_host(check);
  if (const auto inside = inside_hosts(of_hosts); !inside.empty())
    lines.push_back(
        fmt::format("inside a host: {}", spread_text(inside, [&](const Figure& slowest) {
                      return name(check.task_host_of(slowest.rank));
                    })));
  std::vector<Figure> pairs;
  const std::vector<LinkFacts> links = pairs_as_links(check.groups, check.host_of_rank);
  for (std::size_t i = 0; i < links.size(); ++i)
    if (links[i].trouble.empty()) pairs.push_back({{}, links[i].pace(), static_cast<int>(i)});
  if (!pairs.empty())
    lines.push_back(
        fmt::format("between two hosts: {}", spread_text(pairs, [&](const Figure& slowest) {
                      const LinkFacts& link = links[static_cast<std::size_t>(slowest.rank)];
                      return fmt::format("{} - {}", name(link.from), name(link.to));
                    })));
  const auto of_gpu = [&](const Figure& slowest) {
    return fmt::format("{} GPU {}", name(check.task_host_of(slowest.rank)),
                       check.gpu_of(slowest.rank));
  };
  if (const auto to = copies_of(of_hosts, &AllReduceRank::to_device); !to.empty())
    lines.push_back(
        fmt::format("copies to a GPU: {}, from it: {}", spread_text(to, of_gpu),
                    spread_text(copies_of(of_hosts, &AllReduceRank::from_device), of_gpu)));
  return lines;
}

}  // namespace train
