// SPDX-License-Identifier: Apache-2.0
#include "backends/command/process_link.hpp"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "backends/link/link_handle.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/random.hpp"
#include "launcher/bootstrap/bootstrap_command.hpp"

namespace train {

namespace {

constexpr int max_reads = 16;  // reads in a row, each of read_buffer's size; then others have their
                               // turn
constexpr int max_last_reads = 256;

}  // namespace

ProcessLinkShared::ProcessLinkShared(Loop& event_loop, ProcessLinkOptions options,
                                     std::shared_ptr<SetupWindow> setup_window)
    : loop(event_loop),
      common(std::move(options)),
      window(std::move(setup_window)),
      children(loop, Children::Rest::ends) {}

void ProcessLinkShared::print(const std::string& line) const {
  if (common.print) common.print(line);
}

ProcessLink::ProcessLink(std::shared_ptr<ProcessLinkShared> shared, Host host, AgentCall call,
                         LinkEvents events)
    : shared_(std::move(shared)),
      host_(std::move(host)),
      call_(std::move(call)),
      events_(std::move(events)) {}

ProcessLink::~ProcessLink() { close(); }

void ProcessLink::enter_window(SetupWindow::Turn turn) {
  start_in(*shared_->window, server(), shared_from_this(), turn);
}

void ProcessLink::start() {
  in_setup_at_ = server();
  launch();
}

void ProcessLink::launch() {
  const std::string nonce = new_nonce();
  const auto command =
      bootstrap_command({nonce, shared_->common.agent.name(), call_.key, to_string(call_.verb)});
  if (!command) return fail_with(command.error());
  const auto call = next_call(*command);
  if (!call) return fail_with(call.error());
  auto process = start_connected(*call);
  if (!process) return fail_with(process.error());
  process_ = std::move(*process);
  launched_ = shared_->loop.now();
  end_ = {};
  has_process_ended_ = has_stream_ended_ = false;
  bootstrap_.emplace(nonce, machine_of_this_program());
  is_uploading_ = false;
  upload_.clear();
  phase_ = Phase::bootstrap;
  ++tries_;
  watch_process();
  set_deadline(first_limit());
}

void ProcessLink::watch_process() {
  const auto weak = weak_from_this();
  shared_->children.add(process_.pid, std::move(process_.pidfd), [weak](const ExitStatus& end) {
    if (const auto self = weak.lock()) self->on_process_end(end);
  });
  errors_readable_ = shared_->loop.when_readable(process_.errors.get(),
                                                 [this] { keep_alive(&ProcessLink::read_errors); });
  readable_ = shared_->loop.when_readable(process_.stream.get(),
                                          [this] { keep_alive(&ProcessLink::read_output); });
}

// The link may be destroyed inside one of its callbacks.
void ProcessLink::keep_alive(void (ProcessLink::*action)()) {
  const auto self = shared_from_this();
  (this->*action)();
}

void ProcessLink::read_errors() {
  auto& buffer = shared_->read_buffer;
  for (int i = 0; i < max_reads && process_.errors; ++i) {
    const ssize_t count = read_some(process_.errors.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      end_log();
      errors_readable_.reset();
      process_.errors.reset();
      break;
    }
    read_log({buffer.data(), static_cast<std::size_t>(count)});
    if (!bootstrap_ || !is_of_host()) continue;
    const auto counted = bootstrap_->take_errors(static_cast<std::size_t>(count));
    if (!counted) return fail_with(counted.error());
  }
  // Each stage of the log has its own deadline, until the host itself has answered.
  follow_log(phase_ == Phase::bootstrap && !is_uploading_ && !has_process_ended_);
}

void ProcessLink::read_output() {
  auto& buffer = shared_->read_buffer;
  // After the end of the process, reads only what is in the socket's buffer: a program that it has
  // started may hold the other end and write forever.
  const int most = has_process_ended_ ? max_last_reads : max_reads;
  for (int i = 0; process_.stream && i < most; ++i) {
    const ssize_t count = read_some(process_.stream.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EAGAIN && !has_process_ended_) return;
    if (count <= 0) return on_stream_end();
    on_output({buffer.data(), static_cast<std::size_t>(count)});
  }
  if (has_process_ended_ && process_.stream) on_stream_end();
}

void ProcessLink::on_output(std::string_view bytes) {
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

void ProcessLink::upload() {
  is_uploading_ = true;
  await_upload();
  upload_.clear();
  upload_.push_upload(shared_->common.agent);
  flush();
}

void ProcessLink::become_open() {
  phase_ = Phase::streaming;
  deadline_.reset();
  upload_.clear();
  leave_setup();
  const LinkInfo info = on_ready(*bootstrap_);
  const std::string first = bootstrap_->take_rest();
  bootstrap_.reset();
  const LinkEvents events = events_;  // the link may end inside a call
  events.on_open(info);
  if (!first.empty() && phase_ == Phase::streaming) events.on_bytes(first);
  if (phase_ == Phase::streaming) flush();
}

void ProcessLink::send(const std::shared_ptr<const std::string>& bytes) {
  if (is_closed() || has_stream_ended_) return;
  queue_.push(SharedBytes(bytes));
  if (phase_ == Phase::streaming && !writable_) flush();
}

void ProcessLink::flush() {
  SendQueue& bytes = phase_ == Phase::streaming ? queue_ : upload_;
  while (!bytes.empty() && process_.stream) {
    const std::string_view front = bytes.front();
    const ssize_t count = uninterrupted(
        [&] { return ::send(process_.stream.get(), front.data(), front.size(), MSG_NOSIGNAL); });
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) bytes.clear();  // the end of the stream reports it to the owner
    if (count > 0) bytes.consume(static_cast<std::size_t>(count));
    // Restarting the timer once a second is enough to detect a stalled upload.
    const Instant now = shared_->loop.now();
    if (phase_ == Phase::bootstrap && now - upload_progress_ > std::chrono::seconds(1)) {
      upload_progress_ = now;
      await_upload();
    }
  }
  if (bytes.empty() || !process_.stream)
    writable_.reset();
  else if (!writable_)
    writable_ = shared_->loop.when_writable(process_.stream.get(),
                                            [this] { keep_alive(&ProcessLink::flush); });
}

}  // namespace train
