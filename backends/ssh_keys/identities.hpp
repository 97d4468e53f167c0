// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/ssh_keys/key_agent.hpp"
#include "backends/ssh_formats/signing_key.hpp"

namespace train {

/// A file with a private key, or with the public half of one that ssh-agent holds.
struct IdentityFile {
  std::string shown;    ///< as the user wrote it, for messages
  std::string path;     ///< absolute; empty: not known, for the reason in `trouble`
  std::string trouble;  ///< why the path is not known

  auto operator<=>(const IdentityFile&) const = default;
};

/// What to choose keys from.
struct IdentityChoice {
  /// Files in order. The `named` first ones are those that the hosts file names.
  std::vector<IdentityFile> files;
  std::size_t named = 0;
  bool missing_is_news = false;            ///< the user is told of files that do not exist
  bool only_files = false;                 ///< the agent's other keys are not used
  std::vector<std::string> agent_sockets;  ///< in order; empty: no agent
  std::vector<std::string> algorithms;     ///< of signatures, that may be used; empty: all

  auto operator<=>(const IdentityChoice&) const = default;
};

/// One way to try to log in.
struct LoginKey {
  std::shared_ptr<SigningKey> key;
  std::string algorithm;
  bool is_in_file = false;  ///< also one that another holds: a file could take its place
};

/// What to try on a host, in order, and what could not be tried and why.
struct LoginPlan {
  std::vector<LoginKey> keys;
  std::vector<Diagnostic> unusable;
  /// Keys that OpenSSH could use and libssh2 cannot: "the FIDO key ~/.ssh/id_ed25519_sk".
  std::vector<std::string> foreign;
};

/// All keys of one user, each file and agent read once, when first needed; agents again when they
/// are to be forgotten. Reading them may block.
class Identities {
 public:
  /// With `can_unlock`, encrypted keys are among those to try; they are opened (`replace`) once a
  /// host wants one.
  Identities(std::chrono::milliseconds agent_deadline, std::chrono::milliseconds agent_patience,
             bool can_unlock = false)
      : agent_deadline_(agent_deadline), agent_patience_(agent_patience), can_unlock_(can_unlock) {}

  /// The keys to try, in ssh's order: those of the agent that the files name, the agent's others,
  /// then the files that the agent does not hold. What the hosts file names comes before all of
  /// these, because servers count the tries.
  const LoginPlan& plan(const IdentityChoice& choice);

  using Loaded = Result<std::shared_ptr<SigningKey>>;
  /// Agents that were read a second ago, or earlier, are read anew for later plans: what they hold
  /// may have changed, or another one may listen in the place of a dead one.
  void forget_agents();
  /// For all later plans: what opening a locked key has given, the open key or an error.
  void replace(const SigningKey& locked, const Loaded& opened);

 private:
  struct File {
    Loaded key;
    std::string public_blob;  ///< also of an encrypted key; empty: not known
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
