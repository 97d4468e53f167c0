// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/openssh/openssh_transport.hpp"
#include "backends/process/children.hpp"

namespace train {

class OpensshLink;

/// The state that all links of a transport share.
struct OpensshShared {
  OpensshShared(Loop& loop, OpensshOptions options, std::shared_ptr<SetupWindow> window);

  /// Searches for `ssh`, once. Calls back from the loop, and never from inside this call, with its
  /// absolute path, or with class `missing` when there is none.
  using OnProgram = std::function<void(Result<std::string>)>;
  void find_program(OnProgram on_program);
  void print(const std::string& line) const;
  /// The environment of an ssh that is started now.
  std::vector<std::string> environment() const;
  /// Tells the user, once, that `StrictHostKeyChecking no` is treated as accept-new.
  void warn_of_strict_no();

  Loop& loop;
  OpensshOptions options;
  std::shared_ptr<SetupWindow> window;
  std::vector<std::weak_ptr<OpensshLink>> links;  ///< some may be expired
  Children children;  ///< ssh processes; all are ended when this object is destroyed
  std::array<char, 65536> read_buffer{};

 private:
  bool has_warned_of_strict_no_ = false;
  bool is_looked_for_ = false;
  std::optional<Result<std::string>> program_;
  std::vector<OnProgram> waiting_;  ///< for the search
  Background disk_;                 ///< the PATH may have folders of a network file system
};

}  // namespace train
