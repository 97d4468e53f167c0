// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/frames/line_buffer.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// A question to a host over a connection of its own, answered in one line.
class HostQuestion {
 public:
  /// Asks at once; `request` is sent to the host first. `on_answer` comes at most once, from the
  /// transport and never from inside a call to this object: with the line, without its end, or with
  /// what was received if that is longer than `longest`; or with the error. This object must not be
  /// destroyed inside `on_answer`.
  HostQuestion(Transport& transport, const Host& host, const AgentCall& call, std::size_t longest,
               std::function<void(Result<std::string_view>)> on_answer,
               const std::string& request = {});
  HostQuestion(const HostQuestion&) = delete;
  HostQuestion& operator=(const HostQuestion&) = delete;

  /// The user is being asked for a password or passphrase for the login.
  bool is_asking() const { return !is_answered_ && link_->is_asking(); }

 private:
  void received(std::string_view bytes);
  void answer(Result<std::string_view> what);

  const std::size_t longest_;
  const std::function<void(Result<std::string_view>)> on_answer_;
  LineBuffer text_;
  bool is_answered_ = false;
  std::unique_ptr<HostLink> link_;
};

}  // namespace train
