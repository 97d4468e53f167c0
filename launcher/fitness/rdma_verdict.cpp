// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/rdma_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "config_schema/hosts/host_fold.hpp"

namespace train {

namespace {

constexpr const char* port_hint =
    "'ibstat' or 'rdma link' there shows it: look at the cable, the switch, and for InfiniBand the "
    "subnet manager";

/// A port of a host.
struct Port {
  std::size_t host = 0;
  const RdmaPort* port = nullptr;

  // From "200 Gb/sec (4X HDR)"; 0 if it is unknown.
  double rate() const { return std::strtod(port->rate.c_str(), nullptr); }
};

class RdmaJudge {
 public:
  explicit RdmaJudge(const std::vector<CheckedHost>& hosts) : hosts_(hosts) {}

  std::vector<HostFinding> judge() {
    std::map<std::string, std::vector<Port>> by_name;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (hosts_[i].fitness)
        for (const RdmaPort& port : hosts_[i].fitness->rdma)
          by_name[port.name].push_back({i, &port});
    for (const auto& [name, ports] : by_name) compare(name, ports);
    look_at_gpu_hosts();
    return std::move(found_);
  }

 private:
  void add(std::size_t host, Fitness fitness, std::string message, std::string hint) {
    found_.push_back({host, fitness, "rdma", std::move(message), std::move(hint)});
  }

  std::string names_of(const std::vector<std::size_t>& hosts) const {
    std::vector<std::string> names;
    names.reserve(hosts.size());
    for (const std::size_t host : hosts) names.push_back(hosts_[host].host.name);
    return summarize_hosts(names, 2);
  }

  void compare(const std::string& name, const std::vector<Port>& ports) {
    std::vector<Port> active;
    std::vector<std::size_t> hosts;
    for (const Port& each : ports)
      if (each.port->is_active()) {
        active.push_back(each);
        hosts.push_back(each.host);
      }
    if (!active.empty() && 2 * active.size() >= ports.size())
      for (const Port& each : ports)
        if (!each.port->is_active())
          add(each.host, Fitness::unfit,
              fmt::format("its RDMA port {} is {}, and that of {} is ACTIVE", name,
                          each.port->state.empty() ? "in no known state" : each.port->state,
                          names_of(hosts)),
              port_hint);
    for (const Port& each : active) {
      std::vector<std::size_t> faster;
      const RdmaPort* other = nullptr;
      for (const Port& one : active)
        if (one.rate() > each.rate()) {
          faster.push_back(one.host);
          other = one.port;
        }
      if (2 * faster.size() > active.size())
        add(each.host, Fitness::unfit,
            fmt::format("its RDMA port {} runs at {}, and that of {} at {}", name, each.port->rate,
                        names_of(faster), other->rate),
            port_hint);
    }
  }

  static bool has_active(const HostFitness& fitness) {
    return std::any_of(fitness.rdma.begin(), fitness.rdma.end(),
                       [](const RdmaPort& port) { return port.is_active(); });
  }

  // Hosts on which NCCL can use only TCP.
  void look_at_gpu_hosts() {
    std::vector<std::size_t> with;     // with an active port
    std::vector<std::size_t> idle;     // with devices, but no active port
    std::vector<std::size_t> without;  // without devices
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (!hosts_[i].fitness || hosts_[i].fitness->host.gpus.cuda.empty()) continue;
      const HostFitness& fitness = *hosts_[i].fitness;
      (has_active(fitness) ? with : fitness.rdma.empty() ? without : idle).push_back(i);
    }
    for (const std::size_t host : idle)
      add(host, Fitness::fit, "none of its RDMA ports is active, so that NCCL takes TCP",
          port_hint);
    if (with.size() > without.size())
      for (const std::size_t host : without)
        add(host, Fitness::fit,
            fmt::format("it has no device for RDMA, and {} have: NCCL takes TCP between them",
                        names_of(with)),
            "'lspci' there shows whether the adapter is seen; its driver may not be loaded");
    look_at_library(with);
  }

  void look_at_library(const std::vector<std::size_t>& hosts) {
    const auto trouble = [&](std::size_t host) -> const std::string& {
      return hosts_[host].fitness->devices.verbs_trouble;
    };
    const auto failing = static_cast<std::size_t>(std::count_if(
        hosts.begin(), hosts.end(), [&](std::size_t host) { return !trouble(host).empty(); }));
    for (const std::size_t host : hosts)
      if (!trouble(host).empty())
        add(host, 2 * failing <= hosts.size() ? Fitness::unfit : Fitness::fit,
            fmt::format(
                "NCCL takes TCP although there is RDMA, since it cannot load libibverbs: {}",
                trouble(host)),
            "install it there: the package is libibverbs1, or libibverbs of rdma-core");
  }

  const std::vector<CheckedHost>& hosts_;
  std::vector<HostFinding> found_;
};

}  // namespace

std::vector<HostFinding> judge_rdma(const std::vector<CheckedHost>& hosts) {
  return RdmaJudge(hosts).judge();
}

}  // namespace train
