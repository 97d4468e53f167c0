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

/// By which network the hosts of a trial reach each other, before any rank is started.
///
/// Each host looks for the first one, where ranks meet, and for its neighbours in a ring, which is
/// how collectives go: a host is asked for three others at most, however many there are. What is
/// chosen of a host is the best of its addresses at which all that looked have reached it. Better
/// is: no bridge of the host alone, RDMA, speed, a network that more hosts have, and that by which
/// the launcher reaches it. An address that two hosts have (docker0's) is none of either. That by
/// which the launcher reaches a host is tried last where it is none of its own: behind a NAT.
class NetworkRound {
 public:
  struct Timing {
    milliseconds answer_limit{15'000};  ///< for a host to answer
  };
  /// What is known of a host.
  struct OfHost {
    std::string name;
    HostNetworks networks;
    std::string reached_at;  ///< by the launcher; empty: that says nothing
  };
  /// What a host is to be told.
  struct Action {
    int host = 0;
    message::Probe probe;
    bool operator==(const Action&) const = default;
  };

  explicit NetworkRound(Timing timing) : timing_(timing) {}
  NetworkRound() : NetworkRound(Timing()) {}

  /// Once: all hosts are ready. One without addresses or a port is not looked for, and nothing is
  /// chosen of it; one without a port is not asked either.
  void begin(std::vector<OfHost> hosts, Instant now);
  bool has_begun() const { return has_begun_; }
  /// Whether an answer of this host is due.
  bool is_expected(int host) const { return waits_for_.contains(host); }
  /// What a host has answered; `is_expected`. False: it is no answer to what it was asked.
  bool answered(int host, const std::vector<ProbeResult>& results, Instant now);
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  /// What was asked of this host may not have arrived: it is asked once more. `is_expected`.
  void ask_again(int host, Instant now);
  /// It cannot answer, and has all its time from now on. `is_expected`.
  void wait_longer(int host, Instant now) { waits_for_[host] = now; }
  /// Hosts that have not answered in time; once each, unless they are waited for longer.
  std::vector<int> silent(Instant now) const;
  /// Nothing more is expected of this host.
  void give_up(int host) { waits_for_.erase(host); }
  std::optional<Instant> next_deadline() const;

  /// Nothing is being asked: for each host there is a choice, or an obstacle.
  bool is_settled() const { return has_begun_ && waits_for_.empty(); }
  /// Where hosts do not reach each other: the pairs, class `host`. Nothing before it has begun, as
  /// of `chosen`; else only when settled.
  std::optional<Error> obstacle() const;
  /// The address of this host; null: nothing is known. Only when settled.
  const NetworkAddress* chosen(int host) const;
  /// Whether no other device of the host is as good as the one of the address that is chosen.
  bool is_best(int host) const;

 private:
  struct Looked {
    int by = 0;
    std::vector<ProbeAnswer> addresses;
  };
  struct Host {
    OfHost about;
    std::vector<int> order = {};  ///< of `networks.addresses` that may be chosen, the best first
    std::vector<Looked> looks = {};
    std::optional<int> choice = {};  ///< one of `order`
  };

  void ask(bool is_thorough, Instant now);
  std::vector<int> targets_of(int host) const;
  bool is_reached_by_all(const Host& host, std::size_t address) const;
  void choose(Instant now);
  std::string words_of(const Host& host, const Looked& look) const;

  Timing timing_;
  std::vector<Host> hosts_;
  std::map<int, Instant> waits_for_;     ///< hosts, and since when
  std::map<int, message::Probe> asked_;  ///< the last question, by host
  bool has_begun_ = false;
  bool was_thorough_ = false;
  std::vector<Action> actions_;
};

}  // namespace train
