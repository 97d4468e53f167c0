// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/ssh_formats/signing_key.hpp"
#include "backends/ssh_keys/key_agent.hpp"

namespace train {

/// A file with a private key, or with the public half of a key in ssh-agent.
struct IdentityFile {
  std::string shown;    ///< as the user wrote it, for messages
  std::string path;     ///< absolute; empty: unknown, because of `trouble`
  std::string trouble;  ///< why the path is not known

  auto operator<=>(const IdentityFile&) const = default;
};

/// The keys that may be used.
struct IdentityChoice {
  /// Files in order. The first `named` of them come from the hosts file.
  std::vector<IdentityFile> files;
  std::size_t named = 0;
  bool missing_is_news = false;            ///< missing files are reported to the user
  bool only_files = false;                 ///< the agent's other keys are not used
  std::vector<std::string> agent_sockets;  ///< in order; empty: no agent
  std::vector<std::string> algorithms;     ///< allowed signature algorithms; empty: all

  auto operator<=>(const IdentityChoice&) const = default;
};

/// One way to try to log in.
struct LoginKey {
  std::shared_ptr<SigningKey> key;
  std::string algorithm;
  bool is_in_file = false;  ///< a file has it unencrypted, even if an agent holds it too
};

/// The keys to try on a host, in order, and which could not be used and why.
struct LoginPlan {
  std::vector<LoginKey> keys;
  std::vector<Diagnostic> unusable;
  /// Keys that OpenSSH could use and libssh2 cannot: "the FIDO key ~/.ssh/id_ed25519_sk".
  std::vector<std::string> foreign;
};

/// All keys of one user. Each file and agent is read once, when first needed; agents are read again
/// after `forget_agents`. Reading them may block.
class Identities {
 public:
  /// With `can_unlock`, encrypted keys are included; they are opened (`replace`) when a host
  /// accepts one.
  Identities(std::chrono::milliseconds agent_deadline, std::chrono::milliseconds agent_patience,
             bool can_unlock = false)
      : agent_deadline_(agent_deadline), agent_patience_(agent_patience), can_unlock_(can_unlock) {}

  /// The keys to try, in ssh's order: keys of the agent that are named by files, other keys of the
  /// agent, then files whose key the agent does not hold. Keys named by the hosts file come before
  /// all of these, because servers limit the number of tries.
  const LoginPlan& plan(const IdentityChoice& choice);

  using Loaded = Result<std::shared_ptr<SigningKey>>;
  /// Agents that were read at least a second ago are read again for later plans: their keys may
  /// have changed, or a new agent may have replaced a dead one.
  void forget_agents();
  /// Replaces a locked key in all later plans with the result of opening it: the open key or an
  /// error.
  void replace(const SigningKey& locked, const Loaded& opened);

 private:
  struct File {
    Loaded key;
    std::string public_blob;  ///< known for some encrypted keys too; empty: unknown
    bool is_missing = false;
  };

  LoginPlan make_plan(const IdentityChoice& choice);
  void add_file(LoginPlan& plan, const IdentityChoice& choice, std::size_t index);
  struct Agent {
    Result<AgentKeys> keys;
    std::chrono::steady_clock::time_point read;
  };

  const AgentKeys& agent(const std::string& socket, std::vector<Diagnostic>& trouble);
  AgentKeys held_keys(const IdentityChoice& choice, std::vector<Diagnostic>& trouble);
  const File& load(const IdentityFile& identity);
  void note_files(LoginPlan& plan, const IdentityChoice& choice);
  static Loaded locked_key(const IdentityFile& identity, File& file);

  std::chrono::milliseconds agent_deadline_;
  std::chrono::milliseconds agent_patience_;
  bool can_unlock_;
  std::map<std::string, Agent> agents_;  ///< by socket
  std::map<IdentityFile, File> files_;
  std::map<IdentityChoice, LoginPlan> plans_;
};

}  // namespace train
