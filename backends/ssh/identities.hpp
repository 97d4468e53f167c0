// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/ssh/signing_key.hpp"

namespace train {

/// One way to try to log in.
struct LoginKey {
  std::shared_ptr<SigningKey> key;
  std::string algorithm;
};

/// What to try on a host, in order, and what could not be tried and why.
struct LoginPlan {
  std::vector<LoginKey> keys;
  std::vector<Diagnostic> unusable;
};

/// All keys of one user, each file and the agent read once, when first needed.
class Identities {
 public:
  /// `home` is the folder that "~" stands for; an empty `agent_socket` means that there is none.
  Identities(std::string home, std::string agent_socket, std::chrono::milliseconds agent_deadline)
      : home_(std::move(home)),
        agent_socket_(std::move(agent_socket)),
        agent_deadline_(agent_deadline) {}

  /// The keys to try: those of the agent (first the one that `identity_file` is the private half
  /// of, because servers count the tries), then `identity_file`; without one, ~/.ssh/id_ed25519,
  /// id_ecdsa and id_rsa, as far as they exist.
  const LoginPlan& plan(const std::string& identity_file);

 private:
  using Loaded = Result<std::shared_ptr<SigningKey>>;
  LoginPlan make_plan(const std::string& identity_file);
  void ask_agent();
  void add_file(LoginPlan& plan, const std::string& file);
  const Loaded& load(const std::string& file);
  std::string expand(const std::string& file) const;

  std::string home_;
  std::string agent_socket_;
  std::chrono::milliseconds agent_deadline_;
  bool agent_asked_ = false;
  std::vector<std::shared_ptr<SigningKey>> agent_keys_;
  std::vector<Diagnostic> agent_trouble_;
  std::map<std::string, Loaded> files_;
  std::map<std::string, LoginPlan> plans_;
};

}  // namespace train
