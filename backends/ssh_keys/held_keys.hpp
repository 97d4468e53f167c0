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

/// Signatures by keys that others hold, ssh-agent above all, which may take their time: they may
/// ask a person first (ssh-add -c). Each holder is asked beside the loop for one signature after
/// the other.
class HeldKeys {
 public:
  /// `say` tells the user something in one line; may be empty.
  HeldKeys(Loop& loop, std::function<void(const std::string&)> say)
      : loop_(loop), say_(std::move(say)) {}
  HeldKeys(const HeldKeys&) = delete;
  HeldKeys& operator=(const HeldKeys&) = delete;

  /// What is to be signed, and the host it is for, which the user is told when it takes long.
  struct Request {
    std::shared_ptr<SigningKey> key;
    std::string data;
    std::string algorithm;
    std::string host;
  };
  /// A request that was made. Once its ticket is destroyed no answer comes, and a request that has
  /// not begun is forgotten. Answers come from the loop.
  using Ticket = std::shared_ptr<const void>;
  using OnSigned = std::function<void(Result<std::string>)>;
  [[nodiscard]] Ticket sign(Request request, OnSigned on_signed);

 private:
  struct Pending;
  void tell_if_slow(const std::shared_ptr<Pending>& pending);

  Loop& loop_;
  std::function<void(const std::string&)> say_;
  std::map<std::string, std::unique_ptr<Background>> holders_;
  std::set<std::string> told_;  ///< keys that the user was told we wait for
};

}  // namespace train
