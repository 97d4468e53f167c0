// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/command/command_transport.hpp"
#include "backends/command/process_link.hpp"

namespace train {

/// The state that all links over commands share.
struct CommandShared : ProcessLinkShared {
  CommandShared(Loop& loop, CommandOptions options, std::shared_ptr<SetupWindow> window);

  const std::vector<std::string> environment;
  ProgramSearch programs;
};

/// The link to one host over the command that its hosts file gives.
class CommandLink final : public ProcessLink {
 public:
  CommandLink(std::shared_ptr<CommandShared> shared, Host host, AgentCall call, LinkEvents events);

  void begin() override;

 private:
  Result<ProgramCall> next_call(const std::string& bootstrap) override;
  nanoseconds first_limit() const override { return commands_->common.start_timeout; }
  void read_log(std::string_view bytes) override;
  void end_log() override {}
  bool is_of_host() const override { return true; }
  LinkInfo on_ready(const BootstrapTalk& talk) override;
  void on_early_end(const ExitStatus& end) override;
  Error lost_agent(const ExitStatus& end) const override;
  Error silence(double seconds) const override;
  std::string endpoint() const override;
  std::string server() const override { return host().name; }

  Error failed(std::string what) const;

  std::shared_ptr<CommandShared> commands_;
  std::string program_;  ///< the path of the command's first word
  std::string said_;     ///< the end of the standard error
};

}  // namespace train
