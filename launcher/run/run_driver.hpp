// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/output/output_sink.hpp"
#include "launcher/output/output_window.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/ports/context_source.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/ports/transport.hpp"
#include "launcher/rendezvous/environment.hpp"
#include "launcher/run/context_delivery.hpp"
#include "launcher/run/run.hpp"
#include "launcher/wire/frame.hpp"

namespace train {

/// Carries out one attempt to execute a plan, over ports: feeds `Run` with what the hosts say, and
/// does what it wants. All decisions are Run's. The launch command makes real ports, the simulation
/// fake ones.
class RunDriver {
 public:
  /// How the world is reached.
  struct Ports {
    Timers& timers;
    Transport& transport;
    OutputSink& output;
    ContextSource::Open open_context = {};  ///< nothing: no context travels
  };

  /// What is executed.
  struct Attempt {
    const Plan& plan;
    std::string task_id;
    PortNeeds port_needs;
    /// Where the ranks start: absolute, or relative to the context.
    std::string working_directory;
    std::function<std::vector<EnvironmentEntry>(int rank)> environment_of;
  };

  /// What others may want to know. They come from inside of calls to the driver, or of the ports'.
  struct Hooks {
    std::function<void()> on_all_started;
    std::function<void(const std::string& text)> on_note;     ///< a line for the user
    std::function<void(const std::string& why)> on_stopping;  ///< a line for the user, or empty
    std::function<void(const ContextSummary& context)> on_context;
    std::function<void(const ContextProgress& progress)> on_context_progress;
    std::function<void()> on_over;  ///< what was printed may still have to be kept
  };

  /// The plan and what the ports refer to must outlive the driver.
  RunDriver(Ports ports, Attempt attempt, Hooks hooks);
  RunDriver(const RunDriver&) = delete;
  RunDriver& operator=(const RunDriver&) = delete;

  /// Begins to reach the hosts.
  void start();
  /// The user wants everything to end, by this signal. Again: sooner.
  void stop(int signal);
  /// More chunks were kept, or there is room again: output that waited for it is acknowledged.
  void acknowledge_output();

  const Run& run() const { return run_; }
  bool over() const { return run_.over(); }
  /// How it ended. Only when over.
  const RunOutcome& outcome() const { return run_.outcome(); }
  /// The hosts whose stream ended by itself after their ranks were told to start: their agents may
  /// have been killed.
  std::vector<int> broken_hosts() const;

 private:
  /// A chunk that was received, and not acknowledged yet.
  struct Received {
    std::uint64_t output_number = 0;  ///< the sink's
    std::uint64_t connection = 0;     ///< that it came on
    std::uint64_t chunk_number = 0;   ///< the host's, on that connection
    std::size_t cost = 0;
  };
  struct HostStream {
    explicit HostStream(std::size_t output_window) : window(output_window) {}

    std::unique_ptr<HostLink> link;
    std::unique_ptr<HostLink> next_link;  ///< to take its place once it is open
    // Links are numbered in the order in which they were opened; 0: none.
    std::uint64_t opened = 0;
    std::uint64_t link_number = 0;
    std::uint64_t next_number = 0;
    bool is_remote = true;
    OutputWindow window;
    std::deque<Received> received;
    // Of the connection:
    std::uint64_t connection = 0;  ///< 1, 2, ...
    FrameDecoder decoder{FrameSender::agent};
    std::uint64_t last_chunk = 0;     ///< received
    std::uint64_t last_kept = 0;      ///< acknowledged
    std::uint64_t received_cost = 0;  ///< of all chunks
    bool was_told_to_start = false;
    bool is_broken = false;     ///< its stream ended by itself after that
    bool has_finished = false;  ///< its agent has said so, and waits for Bye
  };
  /// The stream of an agent that was dismissed, until it has left: a stream that ends before its
  /// last words were delivered takes them along.
  struct Leaving {
    std::unique_ptr<HostLink> link;
    std::uint64_t number = 0;
    std::unique_ptr<Subscription> patience;
  };

  void deliver_context();
  void open_host(int host);
  LinkEvents events_of(int host, std::uint64_t number);
  void link_closed(int host, std::uint64_t number, const Error& why);
  void attach(int host);
  void reopened(int host);
  std::uint64_t credit_of(const HostStream& stream) const;
  void received(int host, std::string_view bytes);
  void received(int host, const Frame& frame);
  void received_output(int host, std::string_view payload);
  void host_broke_protocol(int host, const Error& error);
  void acknowledge_kept(HostStream& host);
  void feed(const RunEvent& event);
  void arm_timer();

  void perform(const run_action::SendPrepare& action);
  void perform(const run_action::Send& action);
  void perform(const run_action::SendContext& action);
  void perform(const run_action::SendGo& action);
  void perform(const run_action::CloseHost& action);
  void perform(const run_action::Reopen& action);
  void perform(const run_action::KeepStream& action);
  void drop_link(HostStream& stream);
  void drop_next_link(HostStream& stream);
  void close_later(std::unique_ptr<HostLink> link);
  void await_leaving(int host);
  void has_left(int host);
  void tell_over();
  void perform(const run_action::AllStarted& action);
  void perform(const run_action::Note& action);
  void perform(const run_action::Stopping& action);
  void perform(const run_action::Over& action);
  message::Prepare prepare_message(int host) const;
  void refuse_prepare(int host, std::string what, std::string hint);

  Ports ports_;
  Attempt attempt_;
  Hooks hooks_;
  const Trial& trial_;
  std::size_t output_window_;  ///< of each host
  Run run_;
  std::string start_frame_;  ///< Go, encoded once for all hosts
  std::vector<HostStream> hosts_;
  std::vector<std::uint64_t> positions_;  ///< bytes received of what each rank has printed
  std::vector<std::unique_ptr<HostLink>> closed_links_;  ///< destroyed outside of their callbacks
  std::unique_ptr<Subscription> closing_;
  std::map<int, Leaving> leaving_;           ///< by host
  std::optional<ContextDelivery> delivery_;  ///< until the ranks are told to start
  std::unique_ptr<Subscription> timer_;
  Instant timer_at_{0};  ///< when it is due
};

}  // namespace train
