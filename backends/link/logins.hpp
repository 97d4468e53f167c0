// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace train {

/// What a user's terminal has for logging in, beside the files with keys.
struct Credentials {
  std::string agent_socket = {};    ///< ssh-agent's ($SSH_AUTH_SOCK); empty: none
  std::string kerberos_cache = {};  ///< $KRB5CCNAME; empty: the usual one
};

/// What a host was logged in to with.
enum class LoginMeans {
  file,          ///< a key that is in a file, or what asks for nothing
  agent,         ///< a key that ssh-agent holds, also one of a security key
  security_key,  ///< a FIDO key that has to be plugged in
  kerberos,
};

/// How the hosts of a task are logged in to, over its whole life: with the credentials of the
/// terminal that launched it, and with those that other terminals of the same user lend it. Used
/// from the loop's thread; asks nothing that could block.
class Logins {
 public:
  explicit Logins(Credentials own);

  /// The sockets of the ssh-agents to ask for keys, best first: those on which somebody listens, or
  /// the best one, so that its error can be told. Empty: there is none.
  std::vector<std::string> agent_sockets() const;
  const std::string& kerberos_cache() const { return kerberos_cache_; }

  void logged_in(const std::string& host, LoginMeans means);
  /// A host took nothing of what there is.
  void refused(const std::string& host);
  /// It is logged in to no more.
  void forget(const std::string& host);

  /// What another terminal has: it takes the place of what there is where hosts are refused, or
  /// where the agent that hosts were logged in to with is gone. Else the agent is kept for the
  /// case. The hosts that it serves, in the order of their names.
  std::vector<std::string> lend(const Credentials& lent);
  /// The hosts whose last login was refused, in the order of their names.
  std::vector<std::string> waiting() const { return {refused_.begin(), refused_.end()}; }
  /// The hosts that were last logged in to so, in the order of their names.
  std::vector<std::string> hosts_by(LoginMeans means) const;

 private:
  bool lend_agent(const std::string& socket);
  bool lend_cache(const std::string& cache);

  std::vector<std::string> agents_;  ///< sockets, best first
  std::string kerberos_cache_;
  std::map<std::string, LoginMeans> means_;  ///< by host
  std::set<std::string> refused_;
};

}  // namespace train
