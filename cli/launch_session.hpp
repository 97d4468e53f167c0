// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "cli/context_delivery.hpp"
#include "cli/rank_output.hpp"
#include "cli/request.hpp"
#include "cli/terminal.hpp"
#include "launcher/ports/transport.hpp"
#include "launcher/run/run.hpp"
#include "launcher/wire/frame.hpp"

namespace train {

/// Carries out one attempt to execute a plan: feeds `Run` with what the hosts say and does what it
/// wants. All decisions are Run's.
class LaunchSession {
 public:
  struct Hooks {
    std::function<void()> on_all_started;
    std::function<void(const std::string& why)> on_stopping;
    std::function<void(const ContextSummary& context)> on_context;
  };

  /// Everything passed in must outlive the session.
  LaunchSession(Loop& loop, Transport& transport, RankOutput& output, Terminal& terminal,
                const Request& request, const Plan& plan, std::string task_id, Hooks hooks);
  ~LaunchSession();
  LaunchSession(const LaunchSession&) = delete;
  LaunchSession& operator=(const LaunchSession&) = delete;

  /// Runs the loop until the attempt is over.
  const RunOutcome& run();
  /// The terminal has caught up: output that waited for it is acknowledged. From the loop.
  void terminal_has_room();

 private:
  struct HostStream {
    explicit HostStream(std::size_t output_window) : window(output_window) {}

    std::unique_ptr<HostLink> link;
    bool is_remote = true;
    FrameDecoder decoder{FrameSender::agent};
    OutputWindow window;
    std::uint64_t last_chunk = 0;  ///< received and written down
    bool ack_due = false;
  };

  void open_host(int host);
  void received(int host, std::string_view bytes);
  void received(int host, const Frame& frame);
  void received_output(int host, std::string_view payload);
  void host_broke_protocol(int host, const Error& error);
  void feed(const RunEvent& event);
  void carry_out(const RunAction& action);
  void perform(const run_action::SendPrepare& action);
  void perform(const run_action::Send& action);
  void perform(const run_action::SendContext& action);
  void perform(const run_action::SendGo& action);
  void perform(const run_action::CloseHost& action);
  void perform(const run_action::AllStarted& action);
  void perform(const run_action::Stopping& action);
  void perform(const run_action::Over& action);
  void deliver_context();
  void refuse_prepare(int host, std::string what, std::string hint);
  void acknowledge_soon(int host);
  void send_acknowledgements();
  void arm_timer();
  std::string working_directory() const;

  Loop& loop_;
  Transport& transport_;
  RankOutput& output_;
  Terminal& terminal_;
  const Plan& plan_;
  std::string task_id_;
  Hooks hooks_;
  PortNeeds ports_;
  std::size_t output_window_;  ///< of each host
  RankEnvironments environments_;
  const std::string context_directory_;  ///< empty: there is none
  Run run_;
  std::string start_frame_;  ///< Go, encoded once for all hosts
  std::vector<HostStream> hosts_;
  std::vector<std::unique_ptr<HostLink>> closed_links_;  ///< destroyed outside of their callbacks
  std::optional<ContextDelivery> delivery_;              ///< until the ranks are told to start
  std::unique_ptr<Subscription> timer_;
  std::unique_ptr<Subscription> signals_;
  std::unique_ptr<Subscription> hangup_;
  bool acknowledgements_posted_ = false;
};

}  // namespace train
