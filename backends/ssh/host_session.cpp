// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/host_session.hpp"

#include <utility>

namespace train {

HostSession::HostSession(std::shared_ptr<SshShared> shared, HostSessions::Key host,
                         SshTarget target)
    : shared_(std::move(shared)),
      host_(std::move(host)),
      connection_(std::make_shared<SshConnection>(shared_, std::move(target), *this)) {}

HostSession::~HostSession() { connection_->close(); }

void HostSession::add(SshSessionUser& link) {
  links_.emplace(++last_link_, &link);
  if (is_ready_) connection_->post_pump();
}

void HostSession::remove(SshSessionUser& link, std::unique_ptr<SshChannel> channel) {
  const auto self = shared_from_this();
  std::erase_if(links_, [&link](const auto& entry) { return entry.second == &link; });
  if (opener_ == &link) opener_ = nullptr;
  if (links_.empty() && (!is_kept_ || !is_ready_ || has_ended())) return end();
  if (!is_ready_) return;
  connection_->leave_setup();
  if (channel) closing_.push_back(std::move(channel));
  connection_->post_pump();
}

Progress HostSession::open_channel(const SshSessionUser& link) {
  if (is_opening_ && opener_ != &link) return Progress::wait;
  const Progress progress = connection_->session().open_channel();
  is_opening_ = progress == Progress::wait;
  opener_ = is_opening_ ? &link : nullptr;
  return progress;
}

bool HostSession::is_usable() const {
  const bool is_stuck = is_opening_ && opener_ == nullptr;
  return is_ready_ && !is_stuck && !has_ended();
}

void HostSession::keep(bool is_kept) {
  is_kept_ = is_kept;
  if (!is_kept && links_.empty()) end();
}

void HostSession::on_login() {
  is_ready_ = true;
  shared_->host_sessions.offer(host_, shared_from_this());
  links_.begin()->second->on_login();
}

bool HostSession::step() {
  const auto self = shared_from_this();
  const std::size_t received = connection_->stream().received();
  bool advanced = step_abandoned();
  advanced = step_closing() || advanced;
  advanced = step_links() || advanced;
  if (!is_ready_) return false;
  const bool are_several = links_.size() + closing_.size() > 1 || is_opening_;
  // Each of these steps may have received packets for another link, for which the socket will not
  // become readable.
  if (are_several && connection_->stream().received() != received) return true;
  if (!links_.empty() || !closing_.empty() || is_opening_) return advanced;
  // Without links nothing else reads, and the loop would report the socket forever.
  if (!connection_->stream().receive_ahead() || has_ended()) end();
  return false;
}

// A step may end this link and others, and open new ones.
bool HostSession::step_links() {
  bool advanced = false;
  for (auto entry = links_.begin(); entry != links_.end();) {
    const std::uint64_t number = entry->first;
    advanced = entry->second->step() || advanced;
    entry = links_.upper_bound(number);
  }
  return advanced;
}

// libssh2 cannot abandon a channel that it has begun to open.
bool HostSession::step_abandoned() {
  if (!is_opening_ || opener_ != nullptr) return false;
  const Progress progress = connection_->session().open_channel();
  if (progress == Progress::wait) return false;
  is_opening_ = false;
  if (progress == Progress::done) closing_.push_back(connection_->session().take_channel());
  return true;
}

bool HostSession::step_closing() {
  return std::erase_if(closing_,
                       [](const auto& channel) { return channel->close() != Progress::wait; }) > 0;
}

void HostSession::on_obstacle(Libssh2Obstacle obstacle) {
  links_.begin()->second->on_obstacle(std::move(obstacle));
}

// Also called after the login, when descriptors run out.
void HostSession::on_failure(Error why) {
  const auto self = shared_from_this();
  is_ready_ = false;
  for (auto entry = links_.begin(); entry != links_.end();) {
    const std::uint64_t number = entry->first;
    entry->second->on_failure(why);
    entry = links_.upper_bound(number);
  }
  end();
}

bool HostSession::has_ended() const { return is_ready_ && connection_->stream().ended(); }

void HostSession::end() {
  is_ready_ = false;
  is_opening_ = false;
  closing_.clear();
  connection_->close();
  shared_->host_sessions.forget(host_, this);
}

}  // namespace train
