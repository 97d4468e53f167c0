// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "backends/openssh/openssh_children.hpp"
#include "backends/openssh/openssh_transport.hpp"

namespace train {

/// What all links of a transport share.
struct OpensshShared {
  OpensshShared(Loop& loop, OpensshOptions options, std::shared_ptr<SetupWindow> window);

  /// The absolute path of `ssh`; class `missing` when there is none.
  const Result<std::string>& program();
  void say(const std::string& line) const;
  /// That `StrictHostKeyChecking no` is taken as accept-new, once.
  void say_what_no_is();

  Loop& loop;
  OpensshOptions options;
  std::shared_ptr<SetupWindow> window;
  OpensshChildren children;
  std::array<char, 65536> read_buffer{};

 private:
  bool has_said_what_no_is_ = false;
  std::optional<Result<std::string>> program_;
};

}  // namespace train
