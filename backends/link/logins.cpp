// SPDX-License-Identifier: Apache-2.0
#include "backends/link/logins.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "backends/posix/descriptor.hpp"

namespace train {

namespace {

// Agents of terminals that were attached one after the other; asking more of them is not worth the
// time.
constexpr std::size_t most_agents = 8;

// Connecting to a unix socket succeeds or fails immediately; EAGAIN means that its queue is full.
bool is_served(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket && (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                              sizeof address) == 0 ||
                    errno == EAGAIN);
}

// Caches that are not files count as present.
bool is_cache_gone(std::string_view cache) {
  for (const std::string_view kind : {"FILE:", "DIR:"})
    if (cache.starts_with(kind)) cache.remove_prefix(kind.size());
  return cache.starts_with('/') && ::access(std::string(cache).c_str(), R_OK) != 0;
}

}  // namespace

Logins::Logins(Credentials own) : kerberos_cache_(std::move(own.kerberos_cache)) {
  if (!own.agent_socket.empty()) agents_.push_back(std::move(own.agent_socket));
}

// A single agent need not be probed: it is asked in any case.
std::vector<std::string> Logins::agent_sockets() const {
  if (agents_.size() < 2) return agents_;
  std::vector<std::string> served;
  std::copy_if(agents_.begin(), agents_.end(), std::back_inserter(served), is_served);
  if (served.empty()) served.push_back(agents_.front());
  return served;
}

void Logins::logged_in(const std::string& host, LoginMeans means) {
  means_[host] = means;
  refused_.erase(host);
}

void Logins::refused(const std::string& host) { refused_.insert(host); }

void Logins::forget(const std::string& host) {
  means_.erase(host);
  refused_.erase(host);
}

std::vector<std::string> Logins::hosts_by(LoginMeans means) const {
  std::vector<std::string> hosts;
  for (const auto& [host, by] : means_)
    if (by == means) hosts.push_back(host);
  return hosts;
}

std::vector<std::string> Logins::lend(const Credentials& lent) {
  std::set<std::string> hosts;
  const auto serve = [&](LoginMeans means) {
    for (std::string& host : hosts_by(means)) hosts.insert(std::move(host));
    hosts.insert(refused_.begin(), refused_.end());
  };
  if (lend_agent(lent.agent_socket)) serve(LoginMeans::agent);
  if (lend_cache(lent.kerberos_cache)) serve(LoginMeans::kerberos);
  return {hosts.begin(), hosts.end()};
}

// A working agent is not replaced by another one, which may hold other keys.
bool Logins::lend_agent(const std::string& socket) {
  if (socket.empty() || !is_served(socket)) return false;
  const bool is_used = !hosts_by(LoginMeans::agent).empty();
  const bool is_gone = std::none_of(agents_.begin(), agents_.end(), is_served);
  const bool is_wanted = !refused_.empty() || (is_used && is_gone);
  const auto known = std::find(agents_.begin(), agents_.end(), socket);
  if (known != agents_.end()) {
    if (!is_wanted) return false;
    agents_.erase(known);
  }
  agents_.insert(is_wanted ? agents_.begin() : agents_.end(), socket);
  if (agents_.size() > most_agents)
    agents_.erase(is_wanted ? agents_.end() - 1 : agents_.begin() + 1);
  return is_wanted;
}

bool Logins::lend_cache(const std::string& cache) {
  if (cache.empty() || cache == kerberos_cache_ || is_cache_gone(cache)) return false;
  const bool is_used = !hosts_by(LoginMeans::kerberos).empty();
  const bool is_gone = !kerberos_cache_.empty() && is_cache_gone(kerberos_cache_);
  if (refused_.empty() && !(is_used && is_gone)) return false;
  kerberos_cache_ = cache;
  return true;
}

}  // namespace train
