// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace train {

/// What a user's terminal offers for logins, in addition to key files.
struct Credentials {
  std::string agent_socket = {};    ///< of ssh-agent ($SSH_AUTH_SOCK); empty: none
  std::string kerberos_cache = {};  ///< $KRB5CCNAME; empty: the default
};

/// How the login to a host was authenticated.
enum class LoginMeans {
  file,          ///< a key in a file, or no secret at all
  agent,         ///< a key in ssh-agent, including a security key there
  security_key,  ///< a FIDO key that must be plugged in
  kerberos,
};

/// The credentials for logins to the hosts of a task, over its whole life: those of the terminal
/// that launched it, and those that other terminals of the same user lend it. Used from the loop's
/// thread; never blocks.
class Logins {
 public:
  explicit Logins(Credentials own);

  /// The sockets of the ssh-agents to ask for keys, best first: those that a process serves, or
  /// else the best one, so that its error can be reported. Empty when there is none.
  std::vector<std::string> agent_sockets() const;
  const std::string& kerberos_cache() const { return kerberos_cache_; }

  void logged_in(const std::string& host, LoginMeans means);
  /// The host refused all credentials.
  void refused(const std::string& host);
  /// The host is no longer used.
  void forget(const std::string& host);

  /// Adds the credentials of another terminal. They replace the current ones if hosts were refused,
  /// or if the agent or cache that hosts were logged in with is gone. Otherwise the agent is kept
  /// in reserve. Returns the hosts that the new credentials may serve, ordered by name.
  std::vector<std::string> lend(const Credentials& lent);
  /// The hosts whose last login was refused, ordered by name.
  std::vector<std::string> waiting() const { return {refused_.begin(), refused_.end()}; }
  /// The hosts whose last login used these means, ordered by name.
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
