// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_keys/identities.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "backends/ssh_formats/private_key_file.hpp"
#include "backends/ssh_formats/wire_encoding.hpp"
#include "backends/ssh_keys/passphrases.hpp"

namespace train {

namespace {

bool has_key(const LoginPlan& plan, const std::string& blob) {
  return std::any_of(plan.keys.begin(), plan.keys.end(),
                     [&blob](const LoginKey& other) { return other.key->public_blob() == blob; });
}

void add_key(LoginPlan& plan, const IdentityChoice& choice,
             const std::shared_ptr<SigningKey>& key) {
  if (has_key(plan, key->public_blob())) return;
  const auto& allowed = choice.algorithms;
  for (std::string& algorithm : signature_algorithms(key_type(key->public_blob())))
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), algorithm) != allowed.end())
      plan.keys.push_back({key, std::move(algorithm)});
}

}  // namespace

const LoginPlan& Identities::plan(const IdentityChoice& choice) {
  const auto known = plans_.find(choice);
  if (known != plans_.end()) return known->second;
  return plans_.emplace(choice, make_plan(choice)).first->second;
}

LoginPlan Identities::make_plan(const IdentityChoice& choice) {
  LoginPlan plan;
  const AgentKeys held = held_keys(choice, plan.unusable);
  const auto add_held = [&](const std::string& blob) {
    for (const auto& key : held.keys)
      if (key->public_blob() == blob) add_key(plan, choice, key);
  };
  for (std::size_t i = 0; i < choice.named; ++i) {
    add_held(load(choice.files[i]).public_blob);
    add_file(plan, choice, i);
  }
  const auto is_named = [&](const auto& key) {
    return std::any_of(choice.files.begin(), choice.files.end(), [&](const IdentityFile& file) {
      return load(file).public_blob == key->public_blob();
    });
  };
  for (const auto& key : held.keys)
    if (is_named(key)) add_key(plan, choice, key);
  if (!choice.only_files) {
    for (const auto& key : held.keys) add_key(plan, choice, key);
    plan.foreign = held.foreign;
  }
  for (std::size_t i = choice.named; i < choice.files.size(); ++i) add_file(plan, choice, i);
  note_files(plan, choice);
  return plan;
}

void Identities::note_files(LoginPlan& plan, const IdentityChoice& choice) {
  for (const IdentityFile& identity : choice.files) {
    const File& file = load(identity);
    if (!file.key || (*file.key)->is_locked()) continue;
    for (LoginKey& login : plan.keys)
      if (login.key->public_blob() == file.public_blob) login.is_in_file = true;
  }
}

void Identities::add_file(LoginPlan& plan, const IdentityChoice& choice, std::size_t index) {
  const IdentityFile& identity = choice.files[index];
  const File& file = load(identity);
  // ssh always looks for a certificate at this path, whatever is configured.
  constexpr std::string_view of_certificate = "-cert.pub";
  const std::string certificate = identity.path + std::string(of_certificate);
  if (!file.is_missing && ::access(certificate.c_str(), R_OK) == 0)
    plan.foreign.push_back(fmt::format("the certificate {}{}", identity.shown, of_certificate));
  // A key that the agent holds needs no private key file.
  if (!file.public_blob.empty() && has_key(plan, file.public_blob)) return;
  if (file.key) return add_key(plan, choice, *file.key);
  if (file.is_missing && !choice.missing_is_news && index >= choice.named) return;
  if (key_type(file.public_blob).starts_with("sk-"))
    plan.foreign.push_back("the FIDO key " + identity.shown);
  const auto& diagnostics = file.key.error().diagnostics;
  plan.unusable.insert(plan.unusable.end(), diagnostics.begin(), diagnostics.end());
}

AgentKeys Identities::held_keys(const IdentityChoice& choice, std::vector<Diagnostic>& trouble) {
  AgentKeys all;
  for (const std::string& socket : choice.agent_sockets) {
    const AgentKeys& held = agent(socket, trouble);
    all.keys.insert(all.keys.end(), held.keys.begin(), held.keys.end());
    all.foreign.insert(all.foreign.end(), held.foreign.begin(), held.foreign.end());
  }
  return all;
}

const AgentKeys& Identities::agent(const std::string& socket, std::vector<Diagnostic>& trouble) {
  static const AgentKeys none;
  auto known = agents_.find(socket);
  if (known == agents_.end()) {
    auto keys = keys_of_agent(socket, agent_deadline_, agent_patience_);
    known = agents_.emplace(socket, Agent{std::move(keys), std::chrono::steady_clock::now()}).first;
  }
  const auto& keys = known->second.keys;
  if (keys) return *keys;
  const auto& why = keys.error().diagnostics;
  trouble.insert(trouble.end(), why.begin(), why.end());
  return none;
}

// Limits the rate: thousands of hosts that refuse at once do not each ask the agents again.
void Identities::forget_agents() {
  constexpr std::chrono::seconds fresh{1};
  const auto now = std::chrono::steady_clock::now();
  if (std::erase_if(agents_, [&](const auto& each) { return now - each.second.read >= fresh; }) > 0)
    plans_.clear();
}

// An encrypted key can be offered to hosts before it is opened if its public half is known.
Identities::Loaded Identities::locked_key(const IdentityFile& identity, File& file) {
  const auto blob = load_blob_of_encrypted_key(identity.path);
  if (!blob) return file.key;
  if (!blob->empty()) file.public_blob = *blob;
  if (signature_algorithms(key_type(file.public_blob)).empty()) return file.key;
  return std::make_shared<LockedKey>(file.public_blob, identity.shown, identity.path);
}

void Identities::replace(const SigningKey& locked, const Loaded& opened) {
  for (auto& [identity, file] : files_) {
    if (!file.key || file.key->get() != &locked) continue;
    file.key = opened;
    plans_.clear();
  }
}

const Identities::File& Identities::load(const IdentityFile& identity) {
  const auto known = files_.find(identity);
  if (known != files_.end()) return known->second;
  File file;
  const auto& [shown, path, trouble] = identity;
  if (path.empty()) {
    file.key = fail(ErrorClass::host, trouble, "name the private key file without it");
  } else if (::access(path.c_str(), F_OK) != 0) {
    file.is_missing = true;
    file.key = load_private_key(path, shown);
    file.public_blob = load_public_blob(path + ".pub");
  } else if (file.public_blob = load_public_blob(path); !file.public_blob.empty()) {
    file.key =
        fail(ErrorClass::host,
             fmt::format("{} is a public key, whose private half ssh-agent does not hold", shown),
             "load it into ssh-agent: ssh-add");
  } else {
    file.key = load_private_key(path, shown);
    file.public_blob = file.key ? (*file.key)->public_blob() : load_public_blob(path + ".pub");
    if (!file.key && can_unlock_) file.key = locked_key(identity, file);
  }
  return files_.emplace(identity, std::move(file)).first->second;
}

}  // namespace train
