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
/// a different address, user or key needs a login of its own. Empty unless sessions are kept.
class HostSessions {
 public:
  /// Two logins with the same key are the same: name, address, user, port and key file.
  using Key = std::tuple<std::string, std::string, std::string, std::optional<int>, std::string>;
  static Key key_of(const Host& host);

  /// True: from now on sessions stay open when their links have ended. False: sessions without
  /// links end now, the others with their last link.
  void keep(bool are_kept);
  /// Offers a session that is logged in. It is kept, unless another usable one is.
  void offer(const Key& host, const std::shared_ptr<HostSession>& session);
  /// A usable session, as far as this side knows, or null.
  std::shared_ptr<HostSession> find(const Key& host) const;
  /// Removes a session: no further link may use it.
  void forget(const Key& host, const HostSession* session);

 private:
  bool are_kept_ = false;
  std::map<Key, std::shared_ptr<HostSession>> sessions_;
};

}  // namespace train
