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

/// Something that a host is asked over a connection of its own, and answers in one line.
class HostQuestion {
 public:
  /// Asks at once. `on_answer` comes at most once, from the transport and never from inside of
  /// this: with the line, without its end, or what is longer than `longest`; or why there is none.
  /// To be destroyed from elsewhere than there. `request` is sent to the host first.
  HostQuestion(Transport& transport, const Host& host, const AgentCall& call, std::size_t longest,
               std::function<void(Result<std::string_view>)> on_answer,
               const std::string& request = {});
  HostQuestion(const HostQuestion&) = delete;
  HostQuestion& operator=(const HostQuestion&) = delete;

  /// Somebody is being asked for what the login takes.
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
