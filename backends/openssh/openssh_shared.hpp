// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/command/program_search.hpp"
#include "backends/openssh/openssh_transport.hpp"

namespace train {

class OpensshLink;

/// The state that all links of a transport share.
struct OpensshShared : ProcessLinkShared {
  OpensshShared(Loop& loop, OpensshOptions options, std::shared_ptr<SetupWindow> window);

  /// Searches for `ssh`, once; see `ProgramSearch`.
  void find_program(ProgramSearch::OnProgram on_program);
  /// The environment of an ssh that is started now.
  std::vector<std::string> environment() const;
  /// Tells the user, once, that `StrictHostKeyChecking no` is treated as accept-new.
  void warn_of_strict_no();

  OpensshOptions options;
  std::vector<std::weak_ptr<OpensshLink>> links;  ///< some may be expired

 private:
  bool has_warned_of_strict_no_ = false;
  ProgramSearch programs_;
};

}  // namespace train
