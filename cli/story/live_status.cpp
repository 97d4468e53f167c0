// SPDX-License-Identifier: Apache-2.0
#include "cli/story/live_status.hpp"

#include "cli/terminal/bottom_rows.hpp"

namespace train {

namespace {

constexpr milliseconds first_look{700};  // shorter launches show nothing
constexpr milliseconds while_starting{250};

}  // namespace

void LiveStatus::begin() {
  next_ = timers_.after(first_look, [this] { draw(); });
}

void LiveStatus::end() {
  next_.reset();
  terminal_.show_below({});
}

void LiveStatus::draw() {
  auto status = watch_.look(look_(), task_, timers_.now());
  std::vector<std::string> rows;
  if (status && screen_of_stderr()) {
    status->unfinished = output_.rewritten_lines(most_unfinished_lines);
    rows = launch_status_rows(*status);
  }
  terminal_.show_below(std::move(rows));
  const bool is_starting = status && status->phase == LaunchStatus::Phase::starting;
  next_ = timers_.after(is_starting ? while_starting : between_looks, [this] { draw(); });
}

}  // namespace train
