// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "launcher/run/run.hpp"
#include "launcher/wire/frame.hpp"
#include "tests/launcher/simulation/one_way.hpp"

namespace train::simulation {

/// The launcher: the real Run, driven as the launch command drives it.
class FakeLauncher {
 public:
  FakeLauncher(VirtualTime& time, const Scenario& scenario, const Trial& trial,
               std::vector<std::string>& complaints);

  void connected(int host, OneWay& to_host, OneWay& from_host);
  void unreachable(int host);
  void receive(int host, std::string_view bytes);
  void link_closed(int host);
  void interrupt();
  /// The context is packed, or cannot be.
  void context_done();
  /// Its process ends, and the kernel closes its connections, unless the machine went with it.
  void die(bool silently);

  bool dead() const { return dead_; }
  bool expects(int host) const { return !links_[static_cast<std::size_t>(host)].closed; }
  const Run& run() const { return run_; }
  std::optional<Instant> over_at() const { return over_at_; }
  /// Bytes that have arrived of a rank's stream.
  std::uint64_t received(int rank, std::size_t stream) const {
    return received_[static_cast<std::size_t>(rank)][stream];
  }

 private:
  struct Link {
    OneWay* to_host = nullptr;
    OneWay* from_host = nullptr;
    bool closed = false;
    FrameDecoder decoder{FrameSender::agent};
    std::uint64_t last_chunk = 0;
    std::optional<std::uint64_t> context_sent;  ///< bytes
    bool context_ended = false;
  };
  void feed(const RunEvent& event);
  void arm_timer();
  void receive_output(int host, std::string_view payload);
  void send(int host, const Message& message);

  void perform(const run_action::SendPrepare& action);
  void perform(const run_action::Send& action) { send(action.host, action.message); }
  void perform(const run_action::SendContext& action);
  void perform(const run_action::SendGo& action);
  void perform(const run_action::CloseHost& action);
  void perform(const run_action::AllStarted&) {}
  void perform(const run_action::Note&) {}
  void perform(const run_action::Stopping&) {}
  void perform(const run_action::Over&) { over_at_ = time_.now(); }

  VirtualTime& time_;
  const Scenario& scenario_;
  const Trial& trial_;
  std::vector<std::string>& complaints_;
  Run run_;
  std::vector<Link> links_;
  std::vector<std::array<std::uint64_t, 2>> received_;
  bool dead_ = false;
  std::optional<Instant> armed_;
  std::optional<Instant> over_at_;
};

}  // namespace train::simulation
