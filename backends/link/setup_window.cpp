// SPDX-License-Identifier: Apache-2.0
#include "backends/link/setup_window.hpp"

#include <algorithm>
#include <utility>

#include "backends/posix/random.hpp"

namespace train {

SetupWindow::SetupWindow(Loop& loop, int most, int most_at_a_server)
    : loop_(loop),
      most_(std::max(most, 1)),
      most_at_a_server_(std::max(most_at_a_server, 1)),
      random_(random_bits()) {}

void SetupWindow::enqueue(const std::string& server, std::function<bool()> start, Turn turn) {
  Server& found = servers_.try_emplace(server, Server{most_at_a_server_}).first->second;
  if (!found.waiting.empty()) ready_.erase({found.waiting.begin()->first, server});
  found.waiting.emplace(turn == Turn::first ? 0 : ++last_turn_, std::move(start));
  note_readiness(server, found);
  post_start_next();
}

void SetupWindow::release(const std::string& server) {
  --running_;
  Server& found = servers_.at(server);
  --found.running;
  note_readiness(server, found);
  if (!ready_.empty()) post_start_next();
}

void SetupWindow::overrun(const std::string& server) {
  Server& found = servers_.try_emplace(server, Server{most_at_a_server_}).first->second;
  found.most = std::max(found.most / 2, 1);
  if (found.running >= found.most && !found.waiting.empty())
    ready_.erase({found.waiting.begin()->first, server});
}

void SetupWindow::note_readiness(const std::string& name, const Server& server) {
  if (server.running < server.most && !server.waiting.empty())
    ready_.emplace(server.waiting.begin()->first, name);
}

void SetupWindow::post_start_next() {
  if (std::exchange(is_posted_, true)) return;
  loop_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->start_next();
  });
}

void SetupWindow::start_next() {
  is_posted_ = false;
  while (running_ < most_ && !ready_.empty()) {
    const std::string name = ready_.begin()->second;
    ready_.erase(ready_.begin());
    Server& server = servers_.at(name);
    const auto start = std::move(server.waiting.extract(server.waiting.begin()).mapped());
    // Counted before it starts: the set-up may already be over, and released, when `start` returns.
    ++running_;
    ++server.running;
    note_readiness(name, server);
    if (!start()) release(name);
  }
}

nanoseconds SetupWindow::pause(int tries) {
  const double step = 0.1 * static_cast<double>(1 << std::clamp(tries - 1, 0, 4));
  const double seconds = step * std::uniform_real_distribution<>(0.5, 1.5)(random_);
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace train
