// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/slurm_partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "config_schema/allocation/slurm_allocation.hpp"
#include "config_schema/allocation/slurm_fields.hpp"
#include "config_schema/hosts/host_set.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::size_t longest_reason = 200;

// A line of `sinfo`: a node in a partition.
struct NodeLine {
  std::string name;
  std::string_view partition;  // without the `*` of the default one
  bool is_default = false;
  std::string_view state;  // compact: "idle", "drain*"
  int cpus = 0;
  int memory = 0;  // MiB
  std::string_view gres;
  std::string_view limit;
  std::string_view reason;
};

std::optional<NodeLine> read_line(std::string_view line) {
  const auto fields = slurm_fields<8>(line);
  if (!fields) return std::nullopt;
  const auto& [name, partition, state, cpus_text, memory, gres, limit, reason] = *fields;
  const auto cpus = whole_number(cpus_text, 1, INT_MAX);
  if (name.empty() || partition.empty() || !cpus) return std::nullopt;
  NodeLine node{.name = std::string(name),
                .partition = partition,
                .state = state,
                .cpus = *cpus,
                .memory = whole_number(memory, 1, INT_MAX).value_or(0),
                .gres = gres,
                .limit = limit,
                .reason = reason};
  node.is_default = node.partition.ends_with('*');
  if (node.is_default) node.partition.remove_suffix(1);
  return node;
}

// Why a node takes no jobs, also later; empty: it takes them. Source: sinfo(1), "NODE STATE CODES".
std::string_view trouble_of(std::string_view state) {
  if (state.ends_with('*')) return "it does not answer";
  while (!state.empty() && (state.back() < 'a' || state.back() > 'z')) state.remove_suffix(1);
  if (state == "drain" || state == "drng") return "drained";
  if (state == "down") return "down";
  if (state == "fail" || state == "failg") return "failing";
  if (state == "futr" || state == "unk" || state == "npc") return "not in use";
  return {};
}

// "30:00", "1-12:00:00"; nothing for "infinite".
std::optional<std::chrono::minutes> limit_of(std::string_view text) {
  constexpr int most = 1'000'000;
  const auto number = [](std::string_view digits) { return whole_number(digits, 0, most); };
  std::chrono::seconds time{0};
  if (const std::size_t dash = text.find('-'); dash != text.npos) {
    const auto days = number(text.substr(0, dash));
    if (!days) return std::nullopt;
    time += std::chrono::hours(24) * *days;
    text.remove_prefix(dash + 1);
  }
  std::chrono::seconds rest{0};
  for (const std::string_view part : split(text, ':')) {
    const auto value = number(part);
    if (!value) return std::nullopt;
    rest = rest * 60 + std::chrono::seconds(*value);
  }
  return std::chrono::floor<std::chrono::minutes>(time + rest);
}

Host host_of(const NodeLine& node, const PartitionWish& wish) {
  Host host;
  host.name = host.address = node.name;
  host.pool = std::string(node.partition);
  host.cpus = Quantity::of(node.cpus);
  if (node.memory > 0) host.memory = static_cast<std::uint64_t>(node.memory) << 20;
  // Other nodes run what the job does not, also where this machine is a node.
  host.transport = TransportKind::ssh;
  const auto most = [&](int slots) { return std::min(slots, wish.slots_per_node.value_or(slots)); };
  const SlurmGpus gpus = gpus_of_gres(node.gres, wish.gpu_type);
  if (gpus.count > 0) {
    give_gpus(gpus, host);
    host.slots = most(gpus.count);
    host.slot_type = SlotType::cuda;
  } else {
    give_no_gpus(host);
    host.slots = most(node.cpus);
  }
  return host;
}

// Ray's constant for a type as Slurm names it.
std::string accelerator_of(const std::string& type) {
  Host host;
  give_gpus({1, type}, host);
  return host.accelerator_type;
}

tl::unexpected<Error> no_partition(const std::string& name, const std::vector<std::string>& names) {
  if (names.empty())
    return fail(ErrorClass::never, "Slurm has no nodes that this user may use",
                "'sinfo' lists partitions and their nodes");
  const std::string are = fmt::format("partitions are {}", join_words(names));
  if (name.empty())
    return fail(ErrorClass::config, "Slurm has no default partition",
                fmt::format("name one: --set resources.resource_pool=...; {}", are));
  const std::string meant = did_you_mean(name, names);
  return fail(ErrorClass::config,
              fmt::format("resources.resource_pool: Slurm has no partition '{}'", name),
              meant.empty() ? are : meant);
}

}  // namespace

Result<SlurmPartition> read_slurm_partition(std::string_view sinfo, const PartitionWish& wanted) {
  PartitionWish wish = wanted;
  std::vector<NodeLine> nodes;
  std::vector<std::string> names;
  SlurmPartition partition;
  partition.name = wish.name;
  for (const std::string_view line : split(sinfo, '\n')) {
    auto node = read_line(line);
    if (!node) continue;
    if (std::find(names.begin(), names.end(), node->partition) == names.end())
      names.emplace_back(node->partition);
    if (node->is_default && partition.name.empty()) partition.name = node->partition;
    nodes.push_back(std::move(*node));
  }
  if (std::find(names.begin(), names.end(), partition.name) == names.end())
    return no_partition(partition.name, names);
  std::erase_if(nodes, [&](const NodeLine& node) { return node.partition != partition.name; });

  for (const NodeLine& node : nodes)
    for (const std::string& type : gpu_types_of_gres(node.gres))
      if (wish.gpu_type.empty() && !wish.accelerator_type.empty() &&
          accelerator_of(type) == wish.accelerator_type)
        wish.gpu_type = type;
  const auto has_gpus = [&](const NodeLine& node) {
    return gpus_of_gres(node.gres, wish.gpu_type).count > 0;
  };
  if (wish.needs_slots && std::any_of(nodes.begin(), nodes.end(), has_gpus))
    std::erase_if(nodes, [&](const NodeLine& node) { return !has_gpus(node); });

  partition.hosts.source = fmt::format("partition {} of Slurm", partition.name);
  partition.limit = limit_of(nodes.front().limit);
  std::vector<std::string> types;
  for (const NodeLine& node : nodes) {
    if (partition.hosts.hosts.size() + partition.away.size() == max_hosts) break;
    for (const std::string& type : gpu_types_of_gres(node.gres)) {
      if (to_lower(type) == to_lower(wish.gpu_type)) partition.gpu_type = type;
      if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    }
    Host host = host_of(node, wish);
    const std::string_view trouble = trouble_of(node.state);
    if (trouble.empty()) {
      partition.hosts.hosts.push_back(std::move(host));
      continue;
    }
    std::string why(trouble);
    if (!node.reason.empty() && node.reason != "none")
      why += fmt::format(": {}", node.reason.substr(0, longest_reason));
    partition.away_why[host.name] = std::move(why);
    partition.away.push_back(std::move(host));
  }
  if (!wish.gpu_type.empty() && partition.gpu_type.empty() && wish.needs_slots)
    return fail(ErrorClass::config,
                fmt::format("slurm.gpu_type: partition {} has no GPUs of the type '{}'",
                            partition.name, wish.gpu_type),
                types.empty() ? "its nodes name no types: leave it out"
                              : fmt::format("its types are {}", join_words(types)));
  return partition;
}

}  // namespace train
