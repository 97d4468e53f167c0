// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/ssh/jump_hosts.hpp"
#include "backends/ssh/jump_session.hpp"

namespace train {

/// A host that others are reached through. All of them share one session with it; only while the
/// jump host does not say whether it reached one of them, another session carries on. It is logged
/// in to once: when that fails, nothing behind it is tried.
class JumpHost : public std::enable_shared_from_this<JumpHost> {
 public:
  /// `failure`: it was tried a moment ago.
  JumpHost(std::shared_ptr<SshShared> shared, JumpRoute route, std::optional<JumpFailure> failure);
  JumpHost(const JumpHost&) = delete;
  JumpHost& operator=(const JumpHost&) = delete;

  /// "me@bastion:2200", as it was written.
  const std::string& name() const { return name_; }
  /// Whether the way to this jump host goes through `other`, or it is `other` itself.
  bool leads_through(const JumpHost& other) const;

  /// The address of this machine on the connection to it, or to its first jump host; empty when
  /// there is none.
  std::string own_address() const;

  using OnReady = std::function<void(std::optional<JumpFailure>)>;
  /// Calls back when connections can be asked for, or with the reason why they cannot: once, from
  /// the loop and never from inside a call, also when this object is gone by then.
  void when_ready(OnReady on_ready);
  /// To be called once it is ready.
  void connect(ForwardRequest request);
  /// Whether a session with it works or will work: others may share it.
  bool is_usable() const { return !is_lost_; }

 private:
  void add_session();
  void on_login();
  void on_failure(const JumpSession* session, JumpFailure failure);
  void tell(OnReady on_ready) const;
  void tell_all();
  void refuse(std::deque<ForwardRequest> requests, const Error& why);
  void on_lost(const JumpSession* session);
  void carry_on(std::deque<ForwardRequest> requests);
  std::shared_ptr<JumpSession> free_session() const;
  void forget(const JumpSession* session);

  std::shared_ptr<SshShared> shared_;
  JumpRoute route_;
  SshTarget target_;
  std::string name_;
  std::vector<std::shared_ptr<JumpSession>> sessions_;
  std::deque<ForwardRequest> requests_;  ///< until there is a session for them
  std::vector<OnReady> waiting_;
  std::optional<JumpFailure> failure_;
  bool is_ready_ = false;
  bool is_lost_ = false;
};

}  // namespace train
