// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/identities.hpp"

#include <unistd.h>

#include <algorithm>

#include "backends/ssh/key_agent.hpp"
#include "backends/ssh/wire_encoding.hpp"

namespace train {

namespace {

constexpr const char* default_files[] = {"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"};

void add_key(LoginPlan& plan, const std::shared_ptr<SigningKey>& key) {
  const auto is_same = [&key](const LoginKey& other) {
    return other.key->public_blob() == key->public_blob();
  };
  if (std::any_of(plan.keys.begin(), plan.keys.end(), is_same)) return;
  for (std::string& algorithm : signature_algorithms(key_type(key->public_blob())))
    plan.keys.push_back({key, std::move(algorithm)});
}

}  // namespace

const LoginPlan& Identities::plan(const std::string& identity_file) {
  const auto known = plans_.find(identity_file);
  if (known != plans_.end()) return known->second;
  return plans_.emplace(identity_file, make_plan(identity_file)).first->second;
}

LoginPlan Identities::make_plan(const std::string& identity_file) {
  ask_agent();
  LoginPlan plan;
  plan.unusable = agent_trouble_;
  if (!identity_file.empty()) {
    // An encrypted file is still good for its public half, when the agent holds the key.
    const Loaded& file = load(identity_file);
    const std::string blob =
        file ? (*file)->public_blob() : load_public_blob(expand(identity_file) + ".pub");
    for (const auto& key : agent_keys_)
      if (key->public_blob() == blob) add_key(plan, key);
    const bool agent_has_it = !plan.keys.empty();
    if (!agent_has_it || file) add_file(plan, identity_file);
  }
  for (const auto& key : agent_keys_) add_key(plan, key);
  if (identity_file.empty())
    for (const char* file : default_files)
      if (::access(expand(file).c_str(), F_OK) == 0) add_file(plan, file);
  return plan;
}

void Identities::ask_agent() {
  if (agent_asked_) return;
  agent_asked_ = true;
  if (agent_socket_.empty()) return;
  auto keys = keys_of_agent(agent_socket_, agent_deadline_);
  if (keys)
    agent_keys_ = std::move(*keys);
  else
    agent_trouble_ = std::move(keys.error().diagnostics);
}

void Identities::add_file(LoginPlan& plan, const std::string& file) {
  const Loaded& key = load(file);
  if (key) return add_key(plan, *key);
  const auto& diagnostics = key.error().diagnostics;
  plan.unusable.insert(plan.unusable.end(), diagnostics.begin(), diagnostics.end());
}

const Identities::Loaded& Identities::load(const std::string& file) {
  const auto known = files_.find(file);
  if (known != files_.end()) return known->second;
  return files_.emplace(file, load_private_key(expand(file), file)).first->second;
}

std::string Identities::expand(const std::string& file) const {
  return file.starts_with("~/") ? home_ + file.substr(1) : file;
}

}  // namespace train
