// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/event_loop/loop.hpp"
#include "backends/link/agent_binary.hpp"
#include "backends/link/send_queue.hpp"
#include "backends/link/setup_window.hpp"
#include "backends/posix/connected_process.hpp"
#include "backends/process/children.hpp"
#include "launcher/bootstrap/bootstrap_talk.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// What every transport over processes is told.
struct ProcessLinkOptions {
  AgentBinary agent;  ///< the agent that is sent to hosts
  /// Shows the user a line of text; may be empty.
  std::function<void(const std::string&)> print;
  /// Timeouts of silence.
  std::chrono::milliseconds start_timeout{30'000};  ///< from the login to an answer
  std::chrono::milliseconds upload_stall{60'000};   ///< longest pause of the upload of the agent
  std::chrono::milliseconds upload_notice{10'000};  ///< pause after which the user is told
};

/// The state that all links of such a transport share.
struct ProcessLinkShared {
  ProcessLinkShared(Loop& loop, ProcessLinkOptions options, std::shared_ptr<SetupWindow> window);

  void print(const std::string& line) const;

  Loop& loop;
  const ProcessLinkOptions common;
  const std::shared_ptr<SetupWindow> window;
  Children children;  ///< all are ended when this object is destroyed
  std::array<char, 65536> read_buffer{};
};

/// "exited with status 1", "was killed by signal KILL".
std::string exit_text(const ExitStatus& end);

/// A link to one host over one process at a time. What the process is, and what its standard error
/// means, is for the derived class. Its start and its data are in process_link.cpp, its end in
/// process_link_end.cpp.
class ProcessLink : public std::enable_shared_from_this<ProcessLink> {
 public:
  ProcessLink(std::shared_ptr<ProcessLinkShared> shared, Host host, AgentCall call,
              LinkEvents events);
  virtual ~ProcessLink();
  ProcessLink(const ProcessLink&) = delete;
  ProcessLink& operator=(const ProcessLink&) = delete;

  /// Finds out what `start` needs, and then waits for the window; called once, from the loop.
  virtual void begin() = 0;
  /// Starts a try; called from the loop, when the window has room.
  void start();
  void send(const std::shared_ptr<const std::string>& bytes);
  virtual bool is_asking() const { return false; }
  std::size_t unsent_bytes() const { return queue_.size(); }
  /// Closes the link; no events follow.
  void close();
  bool is_closed() const { return phase_ == Phase::closed; }

 protected:
  enum class Phase {
    waiting,    ///< for settings, room in the window or a retry
    bootstrap,  ///< the process runs; the agent is not ready yet
    streaming,
    closed,
  };

  /// The program of the next try, which executes `bootstrap` on the host with a shell; forgets what
  /// was learned of the last one.
  virtual Result<ProgramCall> next_call(const std::string& bootstrap) = 0;
  /// How long the next try may be silent at first.
  virtual nanoseconds first_limit() const = 0;
  /// The standard error of the process. `is_of_host` says whether the host has written this.
  virtual void read_log(std::string_view bytes) = 0;
  virtual void end_log() = 0;
  virtual bool is_of_host() const = 0;
  /// The log may have new lines. `is_timed`: the deadline is that of the stage that it shows.
  virtual void follow_log(bool /*is_timed*/) {}
  /// The agent is ready.
  virtual LinkInfo on_ready(const BootstrapTalk& talk) = 0;
  /// The process has ended before the agent was ready: fails the link, or tries again.
  virtual void on_early_end(const ExitStatus& end) = 0;
  virtual Error lost_agent(const ExitStatus& end) const = 0;
  virtual Error silence(double seconds) const = 0;
  /// "10.77.1.3:22": the host in messages.
  virtual std::string endpoint() const = 0;
  /// The name of what may limit concurrent set-ups.
  virtual std::string server() const = 0;

  void enter_window(SetupWindow::Turn turn = SetupWindow::Turn::last);
  /// Drops the process, and tries again after a pause.
  void retry_later();
  void fail_with(const Error& error);
  void set_deadline(nanoseconds delay) { set_deadline(delay, nanoseconds(0)); }
  const Host& host() const { return host_; }
  const AgentCall& call() const { return call_; }
  Phase phase() const { return phase_; }
  int tries() const { return tries_; }
  pid_t pid() const { return process_.pid; }
  Instant launched() const { return launched_; }
  std::string noise() const { return bootstrap_ ? bootstrap_->noise() : std::string(); }

 private:
  void launch();
  void watch_process();
  void read_errors();
  void read_output();
  void on_output(std::string_view bytes);
  void upload();
  void become_open();
  void flush();

  void on_process_end(const ExitStatus& end);
  void on_stream_end();
  void end_if_over();
  void conclude();
  void drop_process(nanoseconds patience);
  void await_upload();
  /// `passed`: the part of the same wait that is already over.
  void set_deadline(nanoseconds delay, nanoseconds passed);
  void on_deadline(nanoseconds delay);
  void leave_setup();
  void keep_alive(void (ProcessLink::*action)());

  std::shared_ptr<ProcessLinkShared> shared_;
  Host host_;
  AgentCall call_;
  LinkEvents events_;
  Phase phase_ = Phase::waiting;
  std::optional<std::string> in_setup_at_;  ///< the server whose room in the window it has
  int tries_ = 0;

  // Declared before the subscriptions, which watch its descriptors and must be destroyed first.
  ConnectedProcess process_;
  Instant launched_{};
  ExitStatus end_;
  bool has_process_ended_ = false;
  bool has_stream_ended_ = false;
  std::unique_ptr<Subscription> readable_;
  std::unique_ptr<Subscription> writable_;  ///< only while something is queued
  std::unique_ptr<Subscription> errors_readable_;
  std::unique_ptr<Subscription> deadline_;

  std::optional<BootstrapTalk> bootstrap_;
  bool is_uploading_ = false;
  SendQueue upload_;
  Instant upload_progress_{};
  bool has_told_pause_ = false;
  SendQueue queue_;
};

}  // namespace train
