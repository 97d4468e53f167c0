// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/supervisor_links.hpp"

#include <algorithm>
#include <utility>

#include "backends/posix/descriptor.hpp"

namespace train {

namespace {

// A supervisor has at most one connection besides the one in use; the rest are bridges that were
// cut off and have not ended yet.
constexpr std::size_t most_waiting = 8;

}  // namespace

SupervisorLinks::SupervisorLinks(Loop& loop, int listening_socket, Events events,
                                 nanoseconds patience)
    : loop_(loop),
      patience_(patience),
      events_(std::move(events)),
      acceptor_(loop, listening_socket, [this](Descriptor socket) { accept(std::move(socket)); }) {}

void SupervisorLinks::accept(Descriptor socket) {
  make_room();
  const LinkId link = ++last_;
  Link& made = links_[link];
  made.connection = std::make_unique<SupervisorConnection>(
      loop_, std::move(socket),
      SupervisorConnection::Events{[this, link](const Frame& frame) {
                                     return links_.contains(link) && events_.on_frame(link, frame);
                                   },
                                   [this, link] { ended(link); }});
  made.patience = loop_.after(patience_, [this, link] { close(link); });
}

// Closes the oldest: it has had the most time to identify itself.
void SupervisorLinks::make_room() {
  const std::size_t waiting = links_.size() - links_.count(used_);
  if (waiting < most_waiting) return;
  const auto oldest = std::find_if(links_.begin(), links_.end(),
                                   [this](const auto& entry) { return entry.first != used_; });
  close(oldest->first);
}

void SupervisorLinks::use(LinkId link) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  found->second.patience.reset();
  used_ = link;
}

// May be called inside a callback of this very connection, so it is destroyed later, by the loop.
void SupervisorLinks::close(LinkId link, std::string last_word) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  // Bytes that wait may begin in the middle of a frame: no message can follow them.
  SupervisorConnection& connection = *found->second.connection;
  if (!last_word.empty() && !connection.has_unsent()) connection.send(std::move(last_word));
  dropped_.push_back(std::move(found->second));
  links_.erase(found);
  if (used_ == link) used_ = 0;
  if (dropping_) return;
  dropping_ = loop_.after(nanoseconds(0), [this] {
    dropping_.reset();
    dropped_.clear();
  });
}

void SupervisorLinks::ended(LinkId link) {
  if (!links_.contains(link)) return;
  close(link);
  events_.on_down(link);
}

void SupervisorLinks::send(std::string bytes) {
  if (const auto used = links_.find(used_); used != links_.end())
    used->second.connection->send(std::move(bytes));
}

int SupervisorLinks::used_socket() const {
  const auto used = links_.find(used_);
  return used == links_.end() ? -1 : used->second.connection->socket();
}

}  // namespace train
