// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/agent/launcher_connection.hpp"
#include "backends/event_loop/acceptor.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/agent/agent.hpp"

namespace train {

/// The connections to an agent's socket: the one that stands for the launcher, and those that have
/// not said yet whose they are. How many of these wait, and how long, is bounded: 8, and 10 s each;
/// where there are more, the oldest goes.
class LauncherLinks {
 public:
  struct Events {
    /// False when no launcher sends such a frame: the link is closed, and `on_down` told.
    std::function<bool(LinkId link, const Frame& frame)> on_frame;
    /// A link has ended that nobody had closed. Comes once, last.
    std::function<void(LinkId link)> on_down;
  };

  /// Accepts from `listening_socket`, which stays open as long as this.
  LauncherLinks(Loop& loop, int listening_socket, Events events,
                nanoseconds patience = std::chrono::seconds(10));
  LauncherLinks(const LauncherLinks&) = delete;
  LauncherLinks& operator=(const LauncherLinks&) = delete;

  /// What is sent goes over this link from now on, if it still stands.
  void use(LinkId link);
  /// The link is told of no more. Its other side sees the end once it has read all that was sent.
  void close(LinkId link) { close(link, {}); }
  /// The same after a last word, which is left out where something else waits to be sent.
  void close(LinkId link, std::string last_word);
  /// Goes nowhere where there is no launcher.
  void send(std::string bytes);
  /// The socket of the link that is used; -1 where there is none.
  int used_socket() const;

 private:
  struct Link {
    std::unique_ptr<LauncherConnection> connection;
    std::unique_ptr<Subscription> patience;  ///< until it is used
  };

  void accept(Descriptor socket);
  void make_room();
  void ended(LinkId link);

  Loop& loop_;
  const nanoseconds patience_;  ///< with a link that says nothing
  Events events_;
  std::map<LinkId, Link> links_;
  LinkId last_ = 0;
  LinkId used_ = 0;            ///< 0: none
  std::vector<Link> dropped_;  ///< destroyed outside of their callbacks
  std::unique_ptr<Subscription> dropping_;
  Acceptor acceptor_;
};

}  // namespace train
