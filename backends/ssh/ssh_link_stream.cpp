// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "backends/ssh/ssh_link.hpp"
#include "launcher/bootstrap/host_words.hpp"

namespace train {

namespace {

constexpr std::size_t max_pending = 256u << 10;
constexpr std::size_t max_errors = 4u << 10;
constexpr int max_reads = 8;    // of read_buffer's size in a row
constexpr int max_rounds = 16;  // until the other links have their turn
constexpr nanoseconds exit_timeout = std::chrono::seconds(5);
constexpr std::string_view starting = "while the agent was being started";

}  // namespace

bool SshLink::transfer() {
  // Writing may read: libssh2 then keeps what came for the next read, about which the socket will
  // not tell. So reading comes after writing.
  bool advanced = write_some();
  if (is_closed()) return false;
  advanced = read_errors() || advanced;
  if (is_closed()) return false;
  advanced = read_output() || advanced;
  if (is_closed()) return false;
  if (!session_->at_end()) return advanced;
  phase_ = Phase::ending;
  set_deadline(exit_timeout, "while it told how the agent ended");
  return true;
}

bool SshLink::write_some() {
  SendQueue& bytes = phase_ == Phase::streaming ? queue_ : upload_;
  bool advanced = false;
  while (!bytes.empty() && stream_->pending() < max_pending) {
    const long count = session_->write(bytes.front());
    if (count < 0) {
      fail_broken(phase_ == Phase::streaming ? "in use" : starting);
      return false;
    }
    if (count == 0) break;
    advanced = true;
    bytes.consume(static_cast<std::size_t>(count));
  }
  // One timer a second is enough to see that an upload goes on.
  const Instant now = shared_->loop.now();
  if (advanced && &bytes == &upload_ && now - upload_progress_ > std::chrono::seconds(1)) {
    upload_progress_ = now;
    set_deadline(shared_->options.upload_stall, "while the binary was being copied there");
  }
  return advanced;
}

bool SshLink::read_errors() {
  auto& buffer = shared_->read_buffer;
  bool advanced = false;
  for (int i = 0; i < max_reads; ++i) {
    const long count = session_->read(SshSession::Stream::error, buffer.data(), buffer.size());
    if (count <= 0) break;  // a broken session shows when the output is read
    advanced = true;
    errors_.append(buffer.data(), static_cast<std::size_t>(count));
    if (errors_.size() > max_errors) errors_.erase(0, errors_.size() - max_errors);
  }
  return advanced;
}

bool SshLink::read_output() {
  auto& buffer = shared_->read_buffer;
  bool advanced = false;
  for (int i = 0; i < max_reads; ++i) {
    const long count = session_->read(SshSession::Stream::output, buffer.data(), buffer.size());
    if (count < 0) {
      fail_broken(phase_ == Phase::streaming ? "in use" : starting);
      return false;
    }
    if (count == 0) break;
    advanced = true;
    on_output({buffer.data(), static_cast<std::size_t>(count)});
    if (is_closed()) return false;
  }
  return advanced;
}

void SshLink::on_output(std::string_view bytes) {
  if (phase_ == Phase::streaming) {
    const auto on_bytes = events_.on_bytes;  // the link may end inside the call
    return on_bytes(bytes);
  }
  bootstrap_->feed(bytes);
  while (phase_ == Phase::bootstrap) {
    const auto next = bootstrap_->next();
    if (!next) return fail_with(next.error());
    if (*next == BootstrapTalk::Step::listen) return;
    if (*next == BootstrapTalk::Step::ready) return become_open();
    upload();
  }
}

void SshLink::upload() {
  set_deadline(shared_->options.upload_stall, "while the binary was being copied there");
  shared_->packer.request([weak = weak_from_this()](const BinaryPacker::Packed& packed) {
    if (const auto self = weak.lock()) self->on_packed(packed);
  });
}

void SshLink::on_packed(const BinaryPacker::Packed& packed) {
  if (phase_ != Phase::bootstrap) return;
  if (!*packed) return fail_with(packed->error());
  upload_.clear();
  upload_.push_upload(packed);
  pump();
}

void SshLink::become_open() {
  phase_ = Phase::streaming;
  deadline_.reset();
  upload_.clear();
  command_ = {};
  leave_setup();
  const std::string first = bootstrap_->take_rest();
  bootstrap_.reset();
  const LinkEvents events = events_;  // the link may end inside a call
  events.on_open({addresses_[address_].numeric, "ssh", stream_->own_address()});
  if (!first.empty() && phase_ == Phase::streaming) events.on_bytes(first);
}

bool SshLink::step_ending() {
  switch (session_->wait_closed()) {
    case Progress::wait:
      return false;
    case Progress::done:
    case Progress::failed:
      finish();
  }
  return false;
}

// The command is over; before the agent was ready, what it printed says why.
void SshLink::finish() {
  const RemoteExit exit = session_->exit();
  const std::string said = printable(errors_, 1000);
  std::string text;
  std::string hint;
  if (bootstrap_) {
    text = fmt::format("the login shell of user {} {} before the agent was ready", user_,
                       exit_text(exit));
    hint = fmt::format("check that this works: ssh -p {} {}@{} /bin/sh -c true", endpoint_.port,
                       user_, endpoint_.address);
    const std::string noise = printable(bootstrap_->noise(), 300);
    if (said.empty() && !noise.empty()) text += fmt::format("; it printed '{}'", noise);
  } else {
    text = "the agent " + exit_text(exit);
  }
  if (!said.empty()) text += fmt::format("; it said '{}'", said);
  fail_with(make_error(ErrorClass::host, std::move(text), std::move(hint)));
}

SshLink::~SshLink() { close(); }

void SshLink::send(std::shared_ptr<const std::string> bytes) {
  if (is_closed() || bytes->empty()) return;
  if (other_) return other_->send_shared(std::move(bytes));
  queue_.push(std::move(bytes));
  if (phase_ == Phase::streaming) post_pump();
}

std::size_t SshLink::unsent_bytes() const {
  if (other_) return other_->unsent_bytes();
  return queue_.size() + (phase_ == Phase::streaming ? stream_->pending() : 0);
}

void SshLink::close() {
  if (is_closed()) return;
  phase_ = Phase::closed;
  drop_connection();
  other_.reset();
  queue_.clear();
  upload_.clear();
  leave_setup();
}

// Steps as far as there is something to do, with one write for all packets of a round.
void SshLink::pump() {
  const auto self = shared_from_this();
  for (int round = 0; session_; ++round) {
    if (round == max_rounds) {
      post_pump();
      break;
    }
    const bool advanced = step();
    if (!session_) return;
    stream_->flush();
    if (!advanced) break;
  }
  watch();
}

void SshLink::post_pump() {
  if (pump_posted_) return;
  pump_posted_ = true;
  shared_->loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->pump_posted_ = false;
    if (self->session_) self->pump();
  });
}

// The loop watches a descriptor once only: while the kernel's buffer is full, a duplicate is
// watched for room.
void SshLink::watch() {
  if (!session_ || (stream_->pending() > 0) == (writable_ != nullptr)) return;
  if (writable_) {
    writable_.reset();
    return;
  }
  if (write_watch_fd_ < 0) write_watch_fd_ = ::fcntl(stream_->fd(), F_DUPFD_CLOEXEC, 0);
  if (write_watch_fd_ < 0)
    return fail_with(make_error(ErrorClass::host, "too many open files to send to " + at(),
                                "raise the limit: ulimit -n 4096"));
  writable_ = shared_->loop.when_writable(write_watch_fd_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->pump();
  });
}

void SshLink::set_deadline(nanoseconds delay, std::string_view doing) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(delay).count() / 1000.0;
  deadline_ = shared_->loop.after(delay, [weak = weak_from_this(), doing, seconds] {
    const auto self = weak.lock();
    if (!self) return;
    if (self->phase_ == Phase::ending) return self->finish();
    self->fail_with(make_error(
        ErrorClass::host, fmt::format("{} was silent for {:g} s {}", self->at(), seconds, doing),
        "check the load of the host and the network"));
  });
}

void SshLink::fail_broken(std::string_view doing) {
  fail_with(stream_->ended() ? lost_error(at(), stream_->error(), doing)
                             : make_error(ErrorClass::host,
                                          fmt::format("the connection to {} broke {}: {}", at(),
                                                      doing, session_->trouble()),
                                          "check the host's sshd log"));
}

void SshLink::fail_with(const Error& error) {
  if (is_closed()) return;
  const auto self = shared_from_this();
  close();
  const LinkEvents events = std::move(events_);
  events.on_closed(error);
}

void SshLink::drop_connection() {
  deadline_.reset();
  readable_.reset();
  writable_.reset();
  session_.reset();
  stream_.reset();
  if (write_watch_fd_ >= 0) ::close(write_watch_fd_);
  write_watch_fd_ = -1;
}

void SshLink::leave_setup() {
  if (in_setup_) shared_->window->release();
  in_setup_ = false;
}

std::string SshLink::at() const {
  const std::string host =
      address_ < addresses_.size() ? addresses_[address_].numeric : endpoint_.address;
  return endpoint_text(host, endpoint_.port);
}

}  // namespace train
