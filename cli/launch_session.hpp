// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/log/log_writer.hpp"
#include "cli/context_delivery.hpp"
#include "cli/rank_output.hpp"
#include "cli/request.hpp"
#include "cli/stop_signals.hpp"
#include "cli/terminal.hpp"
#include "launcher/output/output_window.hpp"
#include "launcher/ports/transport.hpp"
#include "launcher/run/run.hpp"
#include "launcher/task/task_record.hpp"
#include "launcher/wire/frame.hpp"

namespace train {

/// Carries out one attempt to execute a plan: feeds `Run` with what the hosts say and does what it
/// wants. All decisions are Run's.
class LaunchSession {
 public:
  struct Hooks {
    std::function<void()> on_all_started;
    std::function<void(const std::string& text)> on_note;
    std::function<void(const std::string& why)> on_stopping;
    std::function<void(const ContextSummary& context)> on_context;
  };

  /// Where output goes, and who asks for the end.
  struct Surroundings {
    Transport& transport;
    RankOutput& output;
    Terminal& terminal;
    LogWriter& logs;
    StopSignals& signals;
  };

  /// Everything passed in must outlive the session.
  LaunchSession(Loop& loop, const Surroundings& surroundings, const Request& request,
                const Plan& plan, std::string task_id, Hooks hooks);
  ~LaunchSession();
  LaunchSession(const LaunchSession&) = delete;
  LaunchSession& operator=(const LaunchSession&) = delete;

  /// Runs the loop until the attempt is over, and what it printed is in the logs or given up.
  const RunOutcome& run();
  /// The hosts whose stream ended by itself after their ranks were told to start: their agents may
  /// have been killed.
  std::vector<int> broken_hosts() const;
  /// The terminal or the logs have caught up: output that waited for them is acknowledged. From the
  /// loop.
  void acknowledge_output();

 private:
  /// A chunk that was received, and not acknowledged yet.
  struct Received {
    std::uint64_t log_number = 0;  ///< of its piece, for the logs
    std::uint64_t chunk_number = 0;
    std::size_t cost = 0;
  };
  struct HostStream {
    explicit HostStream(std::size_t output_window) : window(output_window) {}

    std::unique_ptr<HostLink> link;
    bool is_remote = true;
    FrameDecoder decoder{FrameSender::agent};
    OutputWindow window;
    std::uint64_t last_chunk = 0;  ///< received
    std::deque<Received> received;
    bool was_told_to_start = false;
    bool is_broken = false;  ///< its stream ended by itself after that
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
  void perform(const run_action::Note& action);
  void perform(const run_action::Stopping& action);
  void perform(const run_action::Over& action);
  void deliver_context();
  void refuse_prepare(int host, std::string what, std::string hint);
  void acknowledge_written(HostStream& host);
  void arm_timer();
  std::string working_directory() const;

  Loop& loop_;
  Transport& transport_;
  RankOutput& output_;
  Terminal& terminal_;
  LogWriter& logs_;
  StopSignals& signals_;
  const Plan& plan_;
  std::string task_id_;
  Hooks hooks_;
  PortNeeds ports_;
  std::size_t output_window_;            ///< of each host
  const std::string context_directory_;  ///< empty: there is none
  Run run_;
  std::string start_frame_;  ///< Go, encoded once for all hosts
  std::vector<HostStream> hosts_;
  std::vector<std::unique_ptr<HostLink>> closed_links_;  ///< destroyed outside of their callbacks
  std::optional<ContextDelivery> delivery_;              ///< until the ranks are told to start
  std::unique_ptr<Subscription> timer_;
};

}  // namespace train
