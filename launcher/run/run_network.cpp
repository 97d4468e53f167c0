// SPDX-License-Identifier: Apache-2.0
// By which network the hosts of a trial reach each other.
#include <algorithm>

#include "config_schema/hosts/host_address.hpp"
#include "launcher/run/run.hpp"

namespace train {

// If all hosts are reached by loopback, they are one machine.
bool Run::is_one_machine() const {
  for (int host = 0; host < connections_.count(); ++host)
    if (!is_loopback(connections_.address(host))) return false;
  return true;
}

// Called when all hosts are ready.
void Run::look_for_networks() {
  if (!rules_.looks_for_networks || networks_.has_begun()) return;
  std::vector<NetworkRound::OfHost> hosts;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const bool is_declared = !trial_.hosts[static_cast<std::size_t>(host)].host.interface.empty();
    const std::string& address = connections_.address(host);
    std::string reached = is_loopback(address) ? address_of_this_machine() : address;
    hosts.push_back({name(host), std::move(hosts_[host].networks),
                     is_declared ? std::string() : std::move(reached)});
  }
  if (is_one_machine())
    for (NetworkRound::OfHost& host : hosts) host.networks = {};
  networks_.begin(std::move(hosts), now_);
  act_on_networks();
}

void Run::act_on_networks() {
  for (NetworkRound::Action& action : networks_.take_actions()) {
    action.probe.of = rules_.of;
    act(host_action::Send{action.host, std::move(action.probe)});
  }
}

// A late answer, or one that comes while everything is being stopped, is not used.
void Run::receive(int host, const message::Probed& m) {
  const HostRun& h = hosts_[host];
  if (h.was_stopped_early || (h.state == HostState::ready && phase_ != RunPhase::connecting))
    return count_repetition(host);
  const bool is_awaited = h.state == HostState::ready && networks_.is_expected(host);
  if (!is_awaited) return repeated_fact(host, "'probed'");
  if (!networks_.answered(host, m.results, now_)) return refuse_unexpected(host, "'probed'");
  act_on_networks();
  decide_start();
}

void Run::give_up_silent_probers() {
  if (phase_ != RunPhase::connecting) return;
  for (const int host : networks_.silent(now_)) {
    if (connections_.is_away(host)) {  // it is asked again when it is back
      networks_.wait_longer(host, now_);
      continue;
    }
    networks_.give_up(host);
    let_go(host, make_error(ErrorClass::host, "it does not say which other hosts it reaches"));
  }
}

std::vector<message::NetworkChoice> Run::chosen_networks() const {
  std::vector<message::NetworkChoice> choices;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const NetworkAddress* const chosen = networks_.chosen(host);
    message::NetworkChoice choice{trial_.hosts[static_cast<std::size_t>(host)].first_rank,
                                  chosen != nullptr ? chosen->interface : std::string(),
                                  networks_.is_best(host)};
    const bool is_same = choices.empty() ? choice.interface.empty()
                                         : choices.back().interface == choice.interface &&
                                               choices.back().is_best == choice.is_best;
    if (!is_same) choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace train
