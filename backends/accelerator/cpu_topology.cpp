// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/cpu_topology.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "backends/accelerator/gpu_files.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::optional<int> cpu_number(std::string_view text) {
  const auto number = number_of(text);
  if (!number || *number >= static_cast<unsigned long long>(most_cpus)) return std::nullopt;
  return static_cast<int>(*number);
}

// The NUMA node of each CPU that a node lists.
std::map<int, int> nodes_of_cpus(const std::string& folder) {
  constexpr std::string_view prefix = "node";
  std::map<int, int> nodes;
  for (const std::string& name : visible_names_in(folder)) {
    if (!name.starts_with(prefix)) continue;
    const auto node = cpu_number(std::string_view(name).substr(prefix.size()));
    if (!node) continue;
    for (const int cpu :
         cpus_in(first_line(small_text(fmt::format("{}/{}/cpulist", folder, name)))))
      nodes.emplace(cpu, *node);
  }
  return nodes;
}

}  // namespace

std::vector<int> allowed_cpus() {
  constexpr std::size_t bits = sizeof(unsigned long) * 8;
  std::vector<unsigned long> mask(static_cast<std::size_t>(most_cpus) / bits);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, mask.size() * sizeof mask[0],
                          reinterpret_cast<cpu_set_t*>(mask.data())) != 0)
    return cpus;
  for (int cpu = 0; cpu < most_cpus; ++cpu) {
    const auto number = static_cast<std::size_t>(cpu);
    if ((mask[number / bits] >> number % bits & 1) != 0) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> cpus_in(std::string_view list) {
  std::vector<bool> is_in(static_cast<std::size_t>(most_cpus));
  for (const std::string_view part : split(list, ',')) {
    const std::size_t dash = std::min(part.find('-'), part.size());
    const auto first = cpu_number(part.substr(0, dash));
    const auto last = dash == part.size() ? first : cpu_number(part.substr(dash + 1));
    if (!first || !last) continue;
    for (int cpu = *first; cpu <= *last; ++cpu) is_in[static_cast<std::size_t>(cpu)] = true;
  }
  std::vector<int> cpus;
  for (int cpu = 0; cpu < most_cpus; ++cpu)
    if (is_in[static_cast<std::size_t>(cpu)]) cpus.push_back(cpu);
  return cpus;
}

CpuTopology look_at_cpus(const std::vector<int>& allowed, const GpuFiles& files) {
  const std::string devices = files.sys + "/devices/system";
  const std::map<int, int> nodes = nodes_of_cpus(devices + "/node");
  CpuTopology topology;
  for (const int number : allowed) {
    const std::string folder = fmt::format("{}/cpu/cpu{}/topology", devices, number);
    const auto siblings = cpus_in(first_line(small_text(folder + "/thread_siblings_list")));
    const bool is_among = std::binary_search(siblings.begin(), siblings.end(), number);
    const auto package = cpu_number(first_line(small_text(folder + "/physical_package_id")));
    const auto node = nodes.find(number);
    topology.cpus.push_back({.number = number,
                             .core = is_among ? siblings.front() : number,
                             .package = package.value_or(0),
                             .node = node == nodes.end() ? 0 : node->second});
  }
  GpuNodes gpus = gpu_nodes(files);
  topology.cuda_nodes = std::move(gpus.cuda);
  topology.rocm_nodes = std::move(gpus.rocm);
  return topology;
}

}  // namespace train
