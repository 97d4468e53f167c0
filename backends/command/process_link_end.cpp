// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <string.h>

#include "backends/command/process_link.hpp"
#include "backends/link/link_handle.hpp"

namespace train {

namespace {

// How long the process may normally run after the end of the stream.
constexpr nanoseconds exit_timeout = std::chrono::seconds(5);
// How long the process may keep running so that the last bytes reach the host.
constexpr nanoseconds last_words = std::chrono::seconds(1);

}  // namespace

std::string exit_text(const ExitStatus& end) {
  if (end.code) return fmt::format("exited with status {}", *end.code);
  if (!end.signal) return "does not end";
  const char* name = ::sigabbrev_np(*end.signal);
  return name ? fmt::format("was killed by signal {}", name)
              : fmt::format("was killed by signal {}", *end.signal);
}

void ProcessLink::on_process_end(const ExitStatus& end) {
  const auto self = shared_from_this();
  has_process_ended_ = true;
  process_.pid = -1;
  end_ = end;
  if (is_closed()) return;
  // All output of the process can be read now.
  read_errors();
  if (is_closed()) return;
  end_log();
  read_output();
  end_if_over();
}

void ProcessLink::on_stream_end() {
  readable_.reset();
  writable_.reset();
  process_.stream.reset();
  queue_.clear();
  has_stream_ended_ = true;
  if (!has_process_ended_) set_deadline(exit_timeout);
  end_if_over();
}

void ProcessLink::end_if_over() {
  if (is_closed() || phase_ == Phase::waiting) return;
  if (has_process_ended_ && has_stream_ended_) conclude();
}

void ProcessLink::conclude() {
  if (phase_ == Phase::streaming) return fail_with(lost_agent(end_));
  on_early_end(end_);
}

void ProcessLink::retry_later() {
  drop_process(nanoseconds(0));
  phase_ = Phase::waiting;
  leave_setup();
  deadline_ = shared_->loop.after(shared_->window->pause(tries_), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->enter_window(SetupWindow::Turn::first);
  });
}

// Tells the user about a pause before the timeout, which is a minute.
void ProcessLink::await_upload() {
  const ProcessLinkOptions& options = shared_->common;
  const bool is_told = !has_told_pause_ && options.upload_notice < options.upload_stall;
  if (!is_told) return set_deadline(options.upload_stall);
  deadline_ = shared_->loop.after(options.upload_notice, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const ProcessLinkOptions& limits = self->shared_->common;
    self->has_told_pause_ = true;
    self->shared_->print(upload_pause_words(self->host_.name, limits.upload_stall));
    self->set_deadline(limits.upload_stall - limits.upload_notice, limits.upload_notice);
  });
}

void ProcessLink::set_deadline(nanoseconds delay, nanoseconds passed) {
  deadline_ = shared_->loop.after(delay, [weak = weak_from_this(), total = passed + delay] {
    if (const auto self = weak.lock()) self->on_deadline(total);
  });
}

void ProcessLink::on_deadline(nanoseconds delay) {
  if (has_stream_ended_) return conclude();
  if (is_asking()) return set_deadline(delay);  // the user may be slow
  const double seconds =
      static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(delay).count()) /
      1000;
  if (is_uploading_)
    return fail_with(
        make_error(ErrorClass::host,
                   fmt::format("{} was silent for {:g} s while the binary was being copied there",
                               endpoint(), seconds),
                   "check the load of the host and the network"));
  end_log();
  fail_with(silence(seconds));
}

void ProcessLink::drop_process(nanoseconds patience) {
  deadline_.reset();
  readable_.reset();
  writable_.reset();
  errors_readable_.reset();
  process_.stream.reset();
  process_.errors.reset();
  if (process_.pid >= 0) shared_->children.dismiss(std::exchange(process_.pid, -1), patience);
}

void ProcessLink::close() {
  if (is_closed()) return;
  const bool has_last_words = phase_ == Phase::streaming && !has_stream_ended_;
  phase_ = Phase::closed;
  drop_process(has_last_words ? last_words : nanoseconds(0));
  queue_.clear();
  upload_.clear();
  leave_setup();
}

void ProcessLink::fail_with(const Error& error) {
  if (is_closed()) return;
  const auto self = shared_from_this();
  close();
  const LinkEvents events = std::move(events_);
  events.on_closed(error);
}

void ProcessLink::leave_setup() {
  if (in_setup_at_) shared_->window->release(*in_setup_at_);
  in_setup_at_.reset();
}

}  // namespace train
