// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/jump_session.hpp"

#include <algorithm>

#include "config_schema/hosts/host_address.hpp"

namespace train {

namespace {

constexpr std::size_t max_pending = 256u << 10;
constexpr std::string_view in_use = "in use";

}  // namespace

void answer_later(Loop& loop, ForwardRequest request, ForwardAnswer answer) {
  if (!request.on_answer) return;
  loop.post([on_answer = std::move(request.on_answer),
             shared = std::make_shared<ForwardAnswer>(std::move(answer))] {
    on_answer(std::move(*shared));
  });
}

JumpSession::JumpSession(std::shared_ptr<SshShared> shared, SshTarget target, Events events)
    : shared_(std::move(shared)),
      name_(target.name),
      events_(std::move(events)),
      connection_(std::make_shared<SshConnection>(shared_, std::move(target), *this)) {}

JumpSession::~JumpSession() { connection_->close(); }

void JumpSession::on_login() {
  is_ready_ = true;
  connection_->leave_setup();
  const auto on_login = events_.on_login;
  on_login();
}

void JumpSession::on_obstacle(Libssh2Obstacle obstacle) {
  const auto on_failure = events_.on_failure;
  Error why = obstacle_error(obstacle);
  on_failure({std::move(why), std::move(obstacle)});
}

// Also called after the login, when descriptors run out.
void JumpSession::on_failure(Error why) {
  if (is_ready_) return lose(why);
  const auto on_failure = events_.on_failure;
  on_failure({std::move(why)});
}

void JumpSession::connect(ForwardRequest request) {
  requests_.push_back(std::move(request));
  ++moves_;
  touch(0);
}

void JumpSession::add(ChannelStream& stream) { streams_.emplace(++last_stream_, &stream); }

void JumpSession::remove(ChannelStream& stream, std::unique_ptr<SshChannel> channel) {
  std::erase_if(streams_, [&stream](const auto& entry) { return entry.second == &stream; });
  if (!channel || !is_ready_) return;
  closing_.push_back(std::move(channel));
  ++moves_;
  touch(0);
}

bool JumpSession::has_room() const {
  return is_ready_ && connection_->stream().pending() < max_pending;
}

void JumpSession::touch(long count) {
  if (count > 0) {
    ++moves_;
    connection_->stream().use(static_cast<std::size_t>(count));
  }
  if (is_ready_ && !is_stepping_) connection_->post_pump();
}

bool JumpSession::step() {
  const auto self = shared_from_this();
  is_stepping_ = true;
  const std::uint64_t moves = moves_;
  if (!take_arrivals()) lose();
  // Each of these steps may receive packets for another one, so all are repeated until nothing
  // moves.
  bool advanced = is_ready_ && step_opening();
  if (is_ready_) advanced = step_closing() || advanced;
  if (is_ready_) wake_streams();
  is_stepping_ = false;
  return is_ready_ && (advanced || moves_ != moves);
}

bool JumpSession::step_opening() {
  if (!opening_) open_next();
  if (!opening_) return false;
  switch (connection_->session().open_forward(opening_->address, opening_->port)) {
    case Progress::wait:
      return false;
    case Progress::done:
      on_opened();
      return true;
    case Progress::failed:
      on_refused();
      return true;
  }
  return false;
}

void JumpSession::open_next() {
  is_stuck_ = false;
  if (requests_.empty()) return;
  opening_ = std::move(requests_.front());
  requests_.pop_front();
  const auto weak = weak_from_this();
  patience_ = shared_->loop.after(shared_->options.jump_patience, [weak] {
    const auto self = weak.lock();
    if (!self) return;
    self->is_stuck_ = true;
    const auto on_stuck = self->events_.on_stuck;
    on_stuck(std::exchange(self->requests_, {}));
  });
  // The time in the queue counts too, so that hosts that do not answer time out together.
  const nanoseconds waited = shared_->loop.now() - opening_->since;
  const nanoseconds left = std::max(opening_->timeout - waited, opening_->timeout / 2);
  deadline_ = shared_->loop.after(left, [weak] {
    if (const auto self = weak.lock()) self->on_late();
  });
}

void JumpSession::answer(ForwardAnswer answer) {
  patience_.reset();
  deadline_.reset();
  ForwardRequest request = std::move(*opening_);
  opening_.reset();
  answer_later(shared_->loop, std::move(request), std::move(answer));
}

void JumpSession::on_opened() {
  auto channel = connection_->session().take_channel();
  answer({std::make_unique<ChannelStream>(shared_from_this(), std::move(channel))});
}

void JumpSession::on_refused() {
  if (connection_->stream().ended()) return lose();
  const bool is_forbidden = connection_->session().is_forwarding_forbidden();
  answer({nullptr, forwarding_error(name_, at(*opening_), is_forbidden), !is_forbidden});
}

// libssh2 cannot abandon a channel that it has begun to open: until that is answered, this session
// opens no other channel, and only serves its open connections.
void JumpSession::on_late() {
  const auto self = shared_from_this();
  is_stuck_ = true;
  const Error error = forwarding_timeout_error(name_, at(*opening_), opening_->timeout);
  answer_later(shared_->loop, *opening_, {nullptr, error});
  opening_->on_answer = nullptr;
  if (streams_.empty() && requests_.empty()) lose(error);
}

bool JumpSession::step_closing() {
  const auto count = std::erase_if(
      closing_, [](const auto& channel) { return channel->close() != Progress::wait; });
  return count > 0;
}

bool JumpSession::take_arrivals() {
  ByteStream& stream = connection_->stream();
  bool is_whole = true;
  if (!streams_.empty())
    is_whole = streams_.begin()->second->take_arrivals();
  else if (!opening_ && closing_.empty())
    is_whole = stream.receive_ahead();  // nothing else reads, and the loop would report the socket
                                        // forever
  return is_whole && !stream.ended();
}

// Waking a stream may end it and others, and open new ones.
void JumpSession::wake_streams() {
  for (auto entry = streams_.begin(); entry != streams_.end() && is_ready_;) {
    const std::uint64_t number = entry->first;
    if (entry->second->is_ready()) entry->second->wake();
    entry = streams_.upper_bound(number);
  }
}

void JumpSession::lose() { lose(connection_->broken_error(in_use)); }

void JumpSession::lose(const Error& why) {
  if (!std::exchange(is_ready_, false)) return;
  const auto self = shared_from_this();
  const Error error = jump_host_error(name_, why);
  patience_.reset();
  deadline_.reset();
  closing_.clear();
  for (const auto& [number, stream] : streams_) stream->lose(error);
  connection_->close();
  const auto on_lost = events_.on_lost;
  on_lost();
  if (opening_) answer({nullptr, error});
  for (ForwardRequest& request : std::exchange(requests_, {}))
    answer_later(shared_->loop, std::move(request), {nullptr, error});
  for (auto entry = streams_.begin(); entry != streams_.end();) {
    const std::uint64_t number = entry->first;
    entry->second->wake();
    entry = streams_.upper_bound(number);
  }
}

std::string JumpSession::at(const ForwardRequest& request) const {
  return endpoint_text(request.address, request.port);
}

}  // namespace train
