// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/link/host_settings.hpp"
#include "backends/link/send_queue.hpp"
#include "backends/openssh/openssh_log.hpp"
#include "backends/openssh/openssh_shared.hpp"
#include "backends/posix/connected_process.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/bootstrap/bootstrap_talk.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// The link to one host, over one ssh process at a time. Its start and its data are in
/// openssh_link.cpp, its end in openssh_link_end.cpp.
class OpensshLink : public std::enable_shared_from_this<OpensshLink> {
 public:
  OpensshLink(std::shared_ptr<OpensshShared> shared, Host host, AgentCall call, LinkEvents events);
  ~OpensshLink();
  OpensshLink(const OpensshLink&) = delete;
  OpensshLink& operator=(const OpensshLink&) = delete;

  /// Starts; called once, from the loop.
  void begin();
  /// Starts a try; called from the loop, when the window has room.
  void start();
  void send(std::shared_ptr<const std::string> bytes);
  /// Whether ssh, or its ProxyCommand, runs the program that asks for passphrases, and the time
  /// limit for the answer has not passed.
  bool is_asking() const;
  std::size_t unsent_bytes() const { return queue_.size(); }
  /// Closes the link; no events follow.
  void close();
  bool is_closed() const { return phase_ == Phase::closed; }

 private:
  enum class Phase {
    waiting,    ///< for settings, room in the window or a retry
    bootstrap,  ///< ssh runs; the agent is not ready yet
    streaming,
    closed,
  };

  void on_program(const Result<std::string>& program);
  void on_settings(const Result<HostSettings>& settings);
  void launch();
  void watch_process();
  void read_errors();
  void read_output();
  void on_output(std::string_view bytes);
  void follow_log();
  void report_accepted_keys();
  nanoseconds connect_limit() const;
  nanoseconds login_limit() const;
  void upload();
  void become_open();
  LinkInfo link_info() const;
  void flush();

  void on_process_end(const ExitStatus& end);
  void on_stream_end();
  void end_if_over();
  void conclude();
  void retry_or_fail();
  void drop_process(nanoseconds patience);
  void await_upload();
  /// `passed`: the part of the same wait that is already over.
  void set_deadline(nanoseconds delay, nanoseconds passed = nanoseconds(0));
  void on_deadline(nanoseconds delay);
  void fail_with(const Error& error);
  void leave_setup();
  void keep_alive(void (OpensshLink::*action)());

  std::shared_ptr<OpensshShared> shared_;
  Host host_;
  AgentCall call_;
  LinkEvents events_;
  std::string program_;  ///< ssh's path
  HostSettings settings_;
  Phase phase_ = Phase::waiting;
  bool in_setup_ = false;
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

  OpensshLog log_;
  OpensshStage timed_stage_ = OpensshStage::starting;  ///< the stage of the current deadline
  int timed_connections_ = 0;
  std::optional<BootstrapTalk> bootstrap_;
  bool is_uploading_ = false;
  SendQueue upload_;
  Instant upload_progress_{};
  bool has_told_pause_ = false;
  SendQueue queue_;
};

}  // namespace train
