// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/agent/supervisor_connection.hpp"
#include "backends/event_loop/acceptor.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/agent/agent.hpp"

namespace train {

/// The connections to an agent's socket: the supervisor's, which is in use, and those that have not
/// identified themselves yet. At most 8 of these wait, for 10 s each; if there are more, the oldest
/// is closed.
class SupervisorLinks {
 public:
  struct Events {
    /// Returns false for a frame that no supervisor sends: then the link is closed, and `on_down`
    /// is called.
    std::function<bool(LinkId link, const Frame& frame)> on_frame;
    /// A link has ended that was not closed by `close`. Called once per link, last.
    std::function<void(LinkId link)> on_down;
  };

  /// Accepts from `listening_socket`, which must stay open for as long as this exists.
  SupervisorLinks(Loop& loop, int listening_socket, Events events,
                  nanoseconds patience = std::chrono::seconds(10));
  SupervisorLinks(const SupervisorLinks&) = delete;
  SupervisorLinks& operator=(const SupervisorLinks&) = delete;

  /// `send` uses this link from now on, if it is still open.
  void use(LinkId link);
  /// No more callbacks come for the link. Its peer sees the end once it has read all that was sent.
  void close(LinkId link) { close(link, {}); }
  /// The same after a last message, which is left out if other bytes still wait to be sent.
  void close(LinkId link, std::string last_word);
  /// Drops the bytes if no link is in use.
  void send(std::string bytes);
  /// The socket of the link in use; -1 if there is none.
  int used_socket() const;

 private:
  struct Link {
    std::unique_ptr<SupervisorConnection> connection;
    std::unique_ptr<Subscription> patience;  ///< until it is used
  };

  void accept(Descriptor socket);
  void make_room();
  void ended(LinkId link);

  Loop& loop_;
  const nanoseconds patience_;  ///< how long a link may stay silent before its first message
  Events events_;
  std::map<LinkId, Link> links_;
  LinkId last_ = 0;
  LinkId used_ = 0;            ///< 0: none
  std::vector<Link> dropped_;  ///< to be destroyed outside of their callbacks
  std::unique_ptr<Subscription> dropping_;
  Acceptor acceptor_;
};

}  // namespace train
