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

/// A host through which other hosts are reached. They share one session with it; only while the
/// jump host has not answered whether it reached one of them, another session serves the rest. The
/// login is made once for all of them: if it fails, nothing behind the jump host is tried.
class JumpHost : public std::enable_shared_from_this<JumpHost> {
 public:
  /// `failure`: the result of a recent try that failed.
  JumpHost(std::shared_ptr<SshShared> shared, JumpRoute route, std::optional<JumpFailure> failure);
  JumpHost(const JumpHost&) = delete;
  JumpHost& operator=(const JumpHost&) = delete;

  /// "me@bastion:2200", as it was written.
  const std::string& name() const { return name_; }
  /// Whether this jump host is `other` or is reached through it.
  bool leads_through(const JumpHost& other) const;

  /// The address of this machine on the connection to it, or to its first jump host; empty when
  /// there is none.
  std::string own_address() const;

  using OnReady = std::function<void(std::optional<JumpFailure>)>;
  /// Calls back when `connect` may be called, or with the reason why it cannot: once, from the loop
  /// and never from inside a call, even when this object is destroyed by then.
  void when_ready(OnReady on_ready);
  /// Requests a connection; only when the jump host is ready.
  void connect(ForwardRequest request);
  /// Whether a session works or is being set up, so that further hosts may share this object.
  bool is_usable() const { return !is_lost_; }

 private:
  void add_session();
  void on_login();
  void on_failure(const JumpSession* session, JumpFailure failure);
  void report(OnReady on_ready) const;
  void report_to_all();
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
  std::deque<ForwardRequest> requests_;  ///< waiting for a session
  std::vector<OnReady> waiting_;
  std::optional<JumpFailure> failure_;
  bool is_ready_ = false;
  bool is_lost_ = false;
};

}  // namespace train
