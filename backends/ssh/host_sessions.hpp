// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

class HostSession;

/// The sessions that further links to the same host may use, one for each host as it was declared:
/// another address, user or key is another login. None, unless they are to be kept.
class HostSessions {
 public:
  /// What makes two logins the same one: name, address, user, port and key file.
  using Key = std::tuple<std::string, std::string, std::string, std::optional<int>, std::string>;
  static Key key_of(const Host& host);

  /// From now on a session stays when its links have ended, for others to come. False: those
  /// without links end now, the others with their links.
  void keep(bool are_kept);
  /// It is logged in. Kept, unless there is another one that works.
  void offer(const Key& host, const std::shared_ptr<HostSession>& session);
  /// One that works, as far as this side knows, or null.
  std::shared_ptr<HostSession> find(const Key& host) const;
  /// No further link may use it.
  void forget(const Key& host, const HostSession* session);

 private:
  bool are_kept_ = false;
  std::map<Key, std::shared_ptr<HostSession>> sessions_;
};

}  // namespace train
