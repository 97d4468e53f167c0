// SPDX-License-Identifier: Apache-2.0
#include "backends/process/launcher_links.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "backends/posix/descriptor.hpp"

namespace train {

namespace {

// A launcher has one beside that which is used; bridges that are cut off linger.
constexpr std::size_t most_waiting = 8;
// How long to leave waiting connections alone when there is no descriptor for them.
constexpr std::chrono::seconds accept_pause{1};

}  // namespace

LauncherLinks::LauncherLinks(Loop& loop, int listening_socket, Events events, nanoseconds patience)
    : loop_(loop), listening_(listening_socket), patience_(patience), events_(std::move(events)) {
  await_connections();
}

void LauncherLinks::await_connections() {
  accepting_ = loop_.when_readable(listening_, [this] { accept(); });
}

void LauncherLinks::accept() {
  Descriptor socket(::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
    // Without a descriptor for it the connection stays in the queue, and would wake this process up
    // again and again: nobody looks at the queue for a while.
    accepting_.reset();
    accept_pause_ = loop_.after(accept_pause, [this] { await_connections(); });
  }
  if (!socket) return;
  make_room();
  const LinkId link = ++last_;
  Link& made = links_[link];
  made.connection = std::make_unique<LauncherConnection>(
      loop_, std::move(socket),
      LauncherConnection::Events{[this, link](const Frame& frame) {
                                   return links_.contains(link) && events_.on_frame(link, frame);
                                 },
                                 [this, link] { dropped_by_peer(link); }});
  made.patience = loop_.after(patience_, [this, link] { drop(link); });
}

// The oldest has had the most time to say whose it is.
void LauncherLinks::make_room() {
  const std::size_t waiting = links_.size() - links_.count(used_);
  if (waiting < most_waiting) return;
  const auto oldest = std::find_if(links_.begin(), links_.end(),
                                   [this](const auto& entry) { return entry.first != used_; });
  drop(oldest->first);
}

void LauncherLinks::use(LinkId link) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  found->second.patience.reset();
  used_ = link;
}

void LauncherLinks::close(LinkId link) { drop(link); }

// We may be inside of a callback of this very connection.
void LauncherLinks::drop(LinkId link) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  dropped_.push_back(std::move(found->second));
  links_.erase(found);
  if (used_ == link) used_ = 0;
  if (dropping_) return;
  dropping_ = loop_.after(nanoseconds(0), [this] {
    dropping_.reset();
    dropped_.clear();
  });
}

void LauncherLinks::dropped_by_peer(LinkId link) {
  if (!links_.contains(link)) return;
  drop(link);
  events_.on_down(link);
}

void LauncherLinks::send(std::string bytes) {
  if (const auto used = links_.find(used_); used != links_.end())
    used->second.connection->send(std::move(bytes));
}

int LauncherLinks::used_socket() const {
  const auto used = links_.find(used_);
  return used == links_.end() ? -1 : used->second.connection->socket();
}

}  // namespace train
