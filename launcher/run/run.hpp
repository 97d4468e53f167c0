// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config_schema/error.hpp"
#include "launcher/plan.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/run/clock_offset.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// What happens to a run. `host` is a node rank. Instants are the launcher's clock.
namespace run_event {
/// The agent's stream is open; `address` is the one the launcher reached the host by.
struct HostOpened {
  int host = 0;
  std::string address;
};
struct HostSaid {
  int host = 0;
  Message message;
};
/// The stream is over, or was never opened.
struct HostClosed {
  int host = 0;
  Error why;
};
/// The user wants everything to end: Ctrl-C, a signal, `train task kill`.
struct StopRequested {
  int signal = 0;
};
/// Time has passed; sent at `Run::next_deadline()` at the latest.
struct Tick {};
}  // namespace run_event

using RunEvent = std::variant<run_event::HostOpened, run_event::HostSaid, run_event::HostClosed,
                              run_event::StopRequested, run_event::Tick>;

/// What a run wants done, in order.
namespace run_action {
/// Send this host its Prepare, made from the plan.
struct SendPrepare {
  int host = 0;
};
struct Send {
  int host = 0;
  Message message;
};
/// Close the stream to this host; nothing more is expected of it.
struct CloseHost {
  int host = 0;
};
/// All ranks are executing.
struct AllStarted {};
/// The ranks are being stopped; `why` is a line for the user.
struct Stopping {
  std::string why;
};
/// The run is over: `Run::outcome()` says how.
struct Over {};
}  // namespace run_action

using RunAction = std::variant<run_action::SendPrepare, run_action::Send, run_action::CloseHost,
                               run_action::AllStarted, run_action::Stopping, run_action::Over>;

/// The decisions of one attempt to execute a plan, and nothing else: events in, actions out.
///
///     connecting -> running -> stopping -> over
///
/// Two phases: nothing is started before every host is ready. The first failure stops everything.
/// Every phase has a deadline, so that no host can keep a run from ending.
class Run {
 public:
  struct Timing {
    milliseconds heartbeat{2'000};       ///< between pings
    milliseconds silence_limit{15'000};  ///< a host that says nothing for so long is lost
    milliseconds verdict_wait{1'000};    ///< for other hosts' verdicts after the first failure
    milliseconds prepare_limit{60'000};  ///< from opened to ready
    milliseconds stop_slack{10'000};     ///< beyond the grace, for a host to say Finished
  };

  /// `trial` must outlive the run.
  Run(const Trial& trial, milliseconds stop_grace, Timing timing);
  Run(const Trial& trial, milliseconds stop_grace) : Run(trial, stop_grace, Timing()) {}

  /// Takes one event; the actions are to be carried out in order.
  std::vector<RunAction> on(const RunEvent& event, Instant now);
  /// When a Tick is wanted, if at all.
  std::optional<Instant> next_deadline() const;
  bool over() const { return phase_ == Phase::over; }
  /// How it ended. Only when over.
  const RunOutcome& outcome() const { return outcome_; }

 private:
  enum class Phase { connecting, running, stopping, over };
  enum class HostState { connecting, opened, preparing, ready, running, finished, failed };

  struct HostRun {
    std::string name;
    std::string address;
    HostState state = HostState::connecting;
    bool open = false;
    Instant opened{0};
    Instant last_heard{0};
    Instant last_ping{0};
    ClockOffset clock;
    std::optional<int> held_port;
    int ranks_started = 0;
    std::vector<message::Survivor> survivors;
  };

  void handle(const run_event::HostOpened& event);
  void handle(const run_event::HostSaid& event);
  void handle(const run_event::HostClosed& event);
  void handle(const run_event::StopRequested& event);
  void handle(const run_event::Tick& event);

  void receive(int host, const message::Hello& m);
  void receive(int host, const message::Ready& m);
  void receive(int host, const message::Refused& m);
  void receive(int host, const message::RankStarted& m);
  void receive(int host, const message::RankNotStarted& m);
  void receive(int host, const message::RankEnded& m);
  void receive(int host, const message::Finished& m);
  void receive(int host, const message::Pong& m);
  template <class Other>
  void receive(int host, const Other&) {
    host_failed(host, make_error(ErrorClass::host, "sent a message that only a launcher sends"));
  }

  template <class Action>
  void act(Action action) {
    actions_.emplace_back(std::move(action));
  }
  bool owns(int host, int rank) const;
  void ping(int host);
  void host_failed(int host, Error why);
  void decide_start();
  void go();
  void stop(milliseconds grace, const std::string& why);
  void send_stop(int host, milliseconds grace);
  void check_over();
  void give_up_waiting();
  void finish();
  bool all_ranks_accounted_for(int host) const;
  bool all_hosts_settled() const;

  const Trial& trial_;
  milliseconds stop_grace_;
  Timing timing_;
  Phase phase_ = Phase::connecting;
  std::vector<HostRun> hosts_;
  RunOutcome outcome_;
  std::vector<Failure> failures_;
  std::optional<Instant> verdict_at_;  ///< when a failed start is reported
  std::optional<Instant> stop_by_;     ///< when hosts that do not finish are given up
  int ranks_started_ = 0;
  int stop_requests_ = 0;
  Instant now_{0};
  std::vector<RunAction> actions_;
};

}  // namespace train
