// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "backends/link/link_handle.hpp"
#include "backends/openssh/openssh_errors.hpp"
#include "backends/openssh/openssh_link.hpp"

namespace train {

namespace {

// How long the process may normally run after the end of the stream.
constexpr nanoseconds exit_timeout = std::chrono::seconds(5);
// How long ssh may keep running so that the last bytes reach the host.
constexpr nanoseconds last_words = std::chrono::seconds(1);

}  // namespace

void OpensshLink::on_process_end(const ExitStatus& end) {
  const auto self = shared_from_this();
  has_process_ended_ = true;
  process_.pid = -1;
  end_ = end;
  if (is_closed()) return;
  // All output of the process can be read now.
  read_errors();
  if (is_closed()) return;
  log_.finish();
  read_output();
  end_if_over();
}

void OpensshLink::on_stream_end() {
  readable_.reset();
  writable_.reset();
  process_.stream.reset();
  queue_.clear();
  has_stream_ended_ = true;
  if (!has_process_ended_) set_deadline(exit_timeout);
  end_if_over();
}

void OpensshLink::end_if_over() {
  if (is_closed() || phase_ == Phase::waiting) return;
  if (has_process_ended_ && has_stream_ended_) conclude();
}

void OpensshLink::conclude() {
  if (phase_ == Phase::streaming) return fail_with(lost_agent_error(log_, host_, end_));
  if (log_.stage() == OpensshStage::logged_in)
    return fail_with(start_error(log_, host_, end_, bootstrap_->noise()));
  retry_or_fail();
}

void OpensshLink::retry_or_fail() {
  const OpensshFailure failure = login_failure(log_, host_, end_);
  if (tries_ >= static_cast<int>(failure.tries)) {
    if (failure.is_refusal && shared_->options.logins) shared_->options.logins->refused(host_.name);
    Error error = failure.error;
    if (tries_ > 1) error.diagnostics.back().message += fmt::format(" (tried {} times)", tries_);
    return fail_with(error);
  }
  drop_process(nanoseconds(0));
  phase_ = Phase::waiting;
  leave_setup();
  if (failure.tries == OpensshFailure::Tries::many) shared_->window->overrun(settings_.server);
  deadline_ = shared_->loop.after(shared_->window->pause(tries_), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self)
      start_in(*self->shared_->window, self->settings_.server, self, SetupWindow::Turn::first);
  });
}

// Tells the user about a pause before the timeout, which is a minute.
void OpensshLink::await_upload() {
  const OpensshOptions& options = shared_->options;
  const bool is_told = !has_told_pause_ && options.upload_notice < options.upload_stall;
  if (!is_told) return set_deadline(options.upload_stall);
  deadline_ = shared_->loop.after(options.upload_notice, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const OpensshOptions& limits = self->shared_->options;
    self->has_told_pause_ = true;
    self->shared_->print(upload_pause_words(self->host_.name, limits.upload_stall));
    self->set_deadline(limits.upload_stall - limits.upload_notice, limits.upload_notice);
  });
}

void OpensshLink::set_deadline(nanoseconds delay, nanoseconds passed) {
  deadline_ = shared_->loop.after(delay, [weak = weak_from_this(), total = passed + delay] {
    if (const auto self = weak.lock()) self->on_deadline(total);
  });
}

void OpensshLink::on_deadline(nanoseconds delay) {
  if (has_stream_ended_) return conclude();
  if (is_asking()) return set_deadline(delay);  // the user may be slow
  const double seconds =
      static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(delay).count()) /
      1000;
  if (is_uploading_)
    return fail_with(
        make_error(ErrorClass::host,
                   fmt::format("{} was silent for {:g} s while the binary was being copied there",
                               openssh_endpoint(log_, host_), seconds),
                   "check the load of the host and the network"));
  log_.finish();
  fail_with(silence_error(log_, host_, seconds, bootstrap_->noise()));
}

void OpensshLink::drop_process(nanoseconds patience) {
  deadline_.reset();
  readable_.reset();
  writable_.reset();
  errors_readable_.reset();
  process_.stream.reset();
  process_.errors.reset();
  if (process_.pid >= 0) shared_->children.dismiss(std::exchange(process_.pid, -1), patience);
}

void OpensshLink::close() {
  if (is_closed()) return;
  const bool has_last_words = phase_ == Phase::streaming && !has_stream_ended_;
  phase_ = Phase::closed;
  drop_process(has_last_words ? last_words : nanoseconds(0));
  queue_.clear();
  upload_.clear();
  leave_setup();
}

void OpensshLink::fail_with(const Error& error) {
  if (is_closed()) return;
  const auto self = shared_from_this();
  close();
  const LinkEvents events = std::move(events_);
  events.on_closed(error);
}

void OpensshLink::leave_setup() {
  if (in_setup_) shared_->window->release(settings_.server);
  in_setup_ = false;
}

}  // namespace train
