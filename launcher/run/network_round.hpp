// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/rendezvous/host_networks.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// Finds the network by which the hosts of a trial reach each other, before any rank is started.
///
/// Each host probes the first host, where ranks meet, and its neighbours in a ring, as in
/// collectives: a host probes at most three others, however many there are. For each host, the best
/// of the addresses at which all probing hosts have reached it is chosen. The order of preference:
/// not a bridge inside the host, RDMA, speed, a network that more hosts have, the address by which
/// the launcher reaches the host. An address that two hosts have (docker0's) belongs to neither.
/// The address by which the launcher reaches a host is tried last if it is not one of the host's
/// own (the host is behind a NAT).
class NetworkRound {
 public:
  struct Timing {
    milliseconds answer_limit{15'000};  ///< for a host to answer
  };
  /// The facts about a host.
  struct OfHost {
    std::string name;
    HostNetworks networks;
    std::string reached_at;  ///< by the launcher; empty: not to be used
  };
  /// What a host is to be told.
  struct Action {
    int host = 0;
    message::Probe probe;
    bool operator==(const Action&) const = default;
  };

  explicit NetworkRound(Timing timing) : timing_(timing) {}
  NetworkRound() : NetworkRound(Timing()) {}

  /// To be called once, when all hosts are ready. A host without addresses or a port is not probed,
  /// and nothing is chosen for it; one without a port does not probe either.
  void begin(std::vector<OfHost> hosts, Instant now);
  bool has_begun() const { return has_begun_; }
  /// Whether an answer of this host is due.
  bool is_expected(int host) const { return waits_for_.contains(host); }
  /// The answer of a host; only if `is_expected`. False: it does not answer the question.
  bool answered(int host, const std::vector<ProbeResult>& results, Instant now);
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  /// The question to this host may be lost: it is asked once more. Only if `is_expected`.
  void ask_again(int host, Instant now);
  /// The host cannot answer now: its time starts again. Only if `is_expected`.
  void wait_longer(int host, Instant now) { waits_for_[host] = now; }
  /// Hosts that have not answered in time; returned until `give_up` or `wait_longer`.
  std::vector<int> silent(Instant now) const;
  /// No answer of this host is expected any more.
  void give_up(int host) { waits_for_.erase(host); }
  std::optional<Instant> next_deadline() const;

  /// No question is open: for each probed host there is a choice, or an obstacle.
  bool is_settled() const { return has_begun_ && waits_for_.empty(); }
  /// The pairs of hosts that do not reach each other, class `host`. Nothing before the round has
  /// begun, as with `chosen`; after that, to be called only when settled.
  std::optional<Error> obstacle() const;
  /// The chosen address of this host; null: none. Only when settled.
  const NetworkAddress* chosen(int host) const;
  /// Whether no other device of the host is as good as that of the chosen address.
  bool is_best(int host) const;

 private:
  struct Looked {
    int by = 0;
    std::vector<ProbeAnswer> addresses;
  };
  struct Host {
    OfHost about;
    std::vector<int> order = {};  ///< indices into `networks.addresses`, best first
    std::vector<Looked> looks = {};
    std::optional<int> choice = {};  ///< an element of `order`
  };

  void ask(bool is_thorough, Instant now);
  std::vector<int> targets_of(int host) const;
  bool is_reached_by_all(const Host& host, std::size_t address) const;
  void choose(Instant now);
  std::string words_of(const Host& host, const Looked& look) const;

  Timing timing_;
  std::vector<Host> hosts_;
  std::map<int, Instant> waits_for_;     ///< hosts that have not answered, and since when
  std::map<int, message::Probe> asked_;  ///< the last question, by host
  bool has_begun_ = false;
  bool was_thorough_ = false;
  std::vector<Action> actions_;
};

}  // namespace train
