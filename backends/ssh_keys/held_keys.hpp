// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "backends/event_loop/background.hpp"
#include "backends/ssh_formats/signing_key.hpp"

namespace train {

/// Signatures with keys that another process holds, usually ssh-agent. They may take long, if the
/// agent asks the user first (ssh-add -c). Each holder is asked on a thread beside the loop, for
/// one signature after the other.
class HeldKeys {
 public:
  /// `print` shows the user a line of text; may be empty.
  HeldKeys(Loop& loop, std::function<void(const std::string&)> print)
      : loop_(loop), print_(std::move(print)) {}
  HeldKeys(const HeldKeys&) = delete;
  HeldKeys& operator=(const HeldKeys&) = delete;

  /// What to sign, and the host it is for, which is shown to the user when it takes long.
  struct Request {
    std::shared_ptr<SigningKey> key;
    std::string data;
    std::string algorithm;
    std::string host;
  };
  /// A pending request. Destroying the ticket cancels it: no answer comes, and a signature that has
  /// not begun is dropped. Answers come from the loop.
  using Ticket = std::shared_ptr<const void>;
  using OnSigned = std::function<void(Result<std::string>)>;
  [[nodiscard]] Ticket sign(Request request, OnSigned on_signed);

 private:
  struct Pending;
  void report_if_slow(const std::shared_ptr<Pending>& pending);

  Loop& loop_;
  std::function<void(const std::string&)> print_;
  std::map<std::string, std::unique_ptr<Background>> holders_;
  std::set<std::string> told_;  ///< keys for which the user was told of the wait
};

}  // namespace train
