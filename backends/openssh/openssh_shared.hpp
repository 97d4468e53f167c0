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

  Loop& loop;
  OpensshOptions options;
  std::shared_ptr<SetupWindow> window;
  BinaryPacker packer;
  OpensshChildren children;
  std::array<char, 65536> read_buffer{};

 private:
  std::optional<Result<std::string>> program_;
};

}  // namespace train
