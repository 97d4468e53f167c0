// SPDX-License-Identifier: Apache-2.0
// What the ranks of all hosts are told when they start: the rendezvous address, and the meaning of
// slots.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config_schema/hosts/host_address.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "launcher/rendezvous/frameworks.hpp"
#include "launcher/rendezvous/rank_environment.hpp"
#include "launcher/run/run.hpp"

namespace train {

// The address at which other hosts reach this machine; empty if none is known.
std::string Run::address_of_this_machine() const {
  struct Source {
    const std::string& (TrialConnections::*address)(int host) const;
    bool is_local;  // of hosts that are this machine; false: of the others
  };
  // In this order: what the hosts file says of this machine; the launcher's end of the connections
  // to other hosts, then to their jump hosts; the only address of this machine.
  const Source sources[] = {{&TrialConnections::own_address, true},
                            {&TrialConnections::own_address, false},
                            {&TrialConnections::likely_own_address, false},
                            {&TrialConnections::likely_own_address, true}};
  for (const Source& source : sources)
    for (int host = 0; host < connections_.count(); ++host) {
      const std::string& address = (connections_.*source.address)(host);
      const bool is_of_source = is_loopback(connections_.address(host)) == source.is_local;
      if (is_of_source && !address.empty() && !is_loopback(address)) return address;
    }
  return {};
}

// The address at which the other hosts reach this one: the one that they have probed, else the one
// by which the launcher reaches it.
Result<std::string> Run::address_of(int host) const {
  const std::string& reached = connections_.address(host);
  if (hosts_.size() == 1 || is_one_machine()) return "127.0.0.1";
  if (const NetworkAddress* const chosen = networks_.chosen(host)) return chosen->address;
  if (!is_loopback(reached)) return reached;
  if (std::string here = address_of_this_machine(); !here.empty()) return here;
  return fail(ErrorClass::host,
              "the other hosts are to meet at this machine, and none of its addresses is known to "
              "be one that they reach",
              "give it an 'address' or an 'interface' in the hosts file");
}

// Ports are in the order of `PortNeeds`.
Result<message::Go> Run::start_message_of_hosts() const {
  message::Go start;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    if (host > 0 && hosts_[host].held_ports.empty()) continue;  // its address is not needed
    const auto address = address_of(host);
    if (!address)
      return tl::make_unexpected(
          with_context(address.error(), fmt::format("host '{}'", name(host))));
    auto port = hosts_[host].held_ports.begin();
    if (host == 0) start.rendezvous_address = *address;
    if (host == 0 && rules_.ports.rendezvous) start.rendezvous_port = *port++;
    if (host == rules_.ports.megascale_host) {
      start.megascale_address = *address;
      start.megascale_port = *port++;
    }
    for (; port != hosts_[host].held_ports.end(); ++port)
      start.workers.push_back(endpoint_text(*address, *port));
  }
  return start;
}

// Checks that all hosts report the same mark of the checkpoint folder, if there is a folder.
Result<void> Run::check_checkpoints() const {
  std::map<std::string, std::vector<std::string>> hosts_of;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host)
    hosts_of[hosts_[host].checkpoint_mark].push_back(name(host));
  if (hosts_of.size() < 2) return {};
  constexpr std::size_t most_named = 4;
  std::string folders;
  for (std::size_t named = 0; const auto& [mark, hosts] : hosts_of) {
    if (++named > most_named) break;
    folders += (folders.empty() ? "" : ", another on ") + summarize_hosts(hosts);
  }
  if (hosts_of.size() > most_named)
    folders += fmt::format(", and {} more", hosts_of.size() - most_named);
  return fail(
      ErrorClass::missing,
      fmt::format("the folder for checkpoints is not one that all hosts share: there is one on {}",
                  folders),
      "mount the same file system there on every host, or name another folder in "
      "checkpoint_storage");
}

void Run::refuse_start(int host, Error why) {
  failures_.push_back({{now_, nanoseconds(0)}, std::move(why), std::nullopt, host, 0});
  stop(kill_at_once, {});
}

void Run::go() {
  if (auto obstacle = networks_.obstacle()) return refuse_start(-1, std::move(*obstacle));
  auto start = start_message_of_hosts();
  if (!start) return refuse_start(-1, std::move(start.error()));
  start_ = std::move(*start);
  std::vector<HostGpus> gpus;
  for (HostRun& host : hosts_) gpus.push_back(std::move(host.gpus));
  if (auto shared = check_checkpoints(); !shared)
    return refuse_start(-1, std::move(shared.error()));
  auto slots = slot_meaning(trial_, gpus);
  if (!slots) return refuse_start(-1, std::move(slots.error()));
  start_.slots = *slots;
  start_.networks = chosen_networks();
  const std::size_t bytes = rules_.ports.workers ? tensorflow_config_size(start_.workers) : 0;
  if (bytes > longest_variable) {
    const Diagnostic why = oversized_tensorflow_config(trial_.world_size, bytes);
    return refuse_start(-1, Error{ErrorClass::config, {why}});
  }
  phase_.become(RunPhase::running);
  has_gone_ = outcome_.were_told_to_start = true;
  go_at_ = now_;
  hang_.begin(now_);
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    enter(hosts_[host], HostState::running);
    act(run_action::SendGo{host});
  }
}

}  // namespace train
