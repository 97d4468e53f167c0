// SPDX-License-Identifier: Apache-2.0
#include "cli/surroundings/stop_signals.hpp"

#include <algorithm>
#include <utility>

#include "backends/posix/child.hpp"
#include "cli/surroundings/environment.hpp"

namespace train {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals() : numbers_{SIGTERM} {
  for (const int number : {SIGINT, SIGHUP})
    if (!is_ignored(number)) numbers_.push_back(number);
  if (!variable("SLURM_JOB_ID").empty()) numbers_.push_back(SIGUSR1);
  block();
}

StopSignals::~StopSignals() { end(); }

void StopSignals::deliver(Loop& loop, const std::function<void(int)>& callback) {
  for (const int number : numbers_) subscriptions_.push_back(loop.on_signals({number}, callback));
  let_through();
}

void StopSignals::block() {
  sigset_t held;
  ::sigemptyset(&held);
  for (const int number : numbers_) ::sigaddset(&held, number);
  ::pthread_sigmask(SIG_BLOCK, &held, &mask_before_);
  held_back_ = true;
}

void StopSignals::hold_back() {
  if (!held_back_) block();
  subscriptions_.clear();
}

// Signals are blocked here, because a signal that Asio releases has its default effect for a
// moment.
void StopSignals::ignore_hangup() {
  const WithoutSignals blocked;
  const auto hangup = std::find(numbers_.begin(), numbers_.end(), SIGHUP);
  if (hangup == numbers_.end()) return;
  if (!subscriptions_.empty())
    subscriptions_.erase(subscriptions_.begin() + (hangup - numbers_.begin()));
  numbers_.erase(hangup);
  (void)std::signal(SIGHUP, SIG_IGN);
}

void StopSignals::end() {
  subscriptions_.clear();
  let_through();
}

void StopSignals::let_through() {
  if (std::exchange(held_back_, false)) ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace train
