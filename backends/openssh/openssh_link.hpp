// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/command/process_link.hpp"
#include "backends/link/host_settings.hpp"
#include "backends/openssh/openssh_log.hpp"
#include "backends/openssh/openssh_shared.hpp"

namespace train {

/// The link to one host, over one ssh process at a time.
class OpensshLink final : public ProcessLink {
 public:
  OpensshLink(std::shared_ptr<OpensshShared> shared, Host host, AgentCall call, LinkEvents events);

  void begin() override;
  /// Whether ssh, or its ProxyCommand, runs the program that asks for passphrases, and the time
  /// limit for the answer has not passed.
  bool is_asking() const override;

 private:
  Result<ProgramCall> next_call(const std::string& bootstrap) override;
  nanoseconds first_limit() const override;
  void read_log(std::string_view bytes) override { log_.feed(bytes); }
  void end_log() override { log_.finish(); }
  bool is_of_host() const override { return log_.stage() == OpensshStage::logged_in; }
  void follow_log(bool is_timed) override;
  LinkInfo on_ready(const BootstrapTalk& talk) override;
  void on_early_end(const ExitStatus& end) override;
  Error lost_agent(const ExitStatus& end) const override;
  Error silence(double seconds) const override;
  std::string endpoint() const override;
  std::string server() const override { return settings_.server; }

  std::shared_ptr<OpensshLink> shared_self();
  void on_program(const Result<std::string>& program);
  void on_settings(const Result<HostSettings>& settings);
  void report_accepted_keys();
  nanoseconds connect_limit() const;
  nanoseconds login_limit() const;

  std::shared_ptr<OpensshShared> openssh_;
  std::string program_;  ///< ssh's path
  HostSettings settings_;
  OpensshLog log_;
  OpensshStage timed_stage_ = OpensshStage::starting;  ///< the stage of the current deadline
  int timed_connections_ = 0;
};

}  // namespace train
