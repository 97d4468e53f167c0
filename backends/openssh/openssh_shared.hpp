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
  OpensshShared(Loop& loop, OpensshOptions options, LinkCommons commons);

  /// The absolute path of `ssh`; class `missing` when there is none.
  const Result<std::string>& program();
  void say(const std::string& line) const;
  /// That a new key was refused although the configuration has `StrictHostKeyChecking no`, once.
  void warn_of_refusal();

  Loop& loop;
  OpensshOptions options;
  std::shared_ptr<SetupWindow> window;
  std::shared_ptr<BinaryPacker> packer;
  OpensshChildren children;
  std::array<char, 65536> read_buffer{};

 private:
  bool has_warned_ = false;
  std::optional<Result<std::string>> program_;
};

}  // namespace train
