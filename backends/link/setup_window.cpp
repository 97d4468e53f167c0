// SPDX-License-Identifier: Apache-2.0
#include "backends/link/setup_window.hpp"

#include <sys/random.h>

#include <algorithm>
#include <utility>

namespace train {

namespace {

// std::random_device would ask for glibc 2.36 on every host.
std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  while (::getrandom(&seed, sizeof seed, 0) != sizeof seed) continue;  // interrupted by a signal
  return seed;
}

}  // namespace

SetupWindow::SetupWindow(Loop& loop, int most, int most_on_a_way)
    : loop_(loop),
      most_(std::max(most, 1)),
      most_on_a_way_(std::max(most_on_a_way, 1)),
      random_(random_seed()) {}

void SetupWindow::enqueue(const std::string& way, std::function<bool()> start, Turn turn) {
  Way& found = ways_.try_emplace(way, Way{most_on_a_way_}).first->second;
  if (!found.waiting.empty()) ready_.erase({found.waiting.begin()->first, way});
  found.waiting.emplace(turn == Turn::first ? 0 : ++last_turn_, std::move(start));
  note_readiness(way, found);
  post_start_next();
}

void SetupWindow::release(const std::string& way) {
  --under_way_;
  Way& found = ways_.at(way);
  --found.under_way;
  note_readiness(way, found);
  if (!ready_.empty()) post_start_next();
}

void SetupWindow::overrun(const std::string& way) {
  Way& found = ways_.try_emplace(way, Way{most_on_a_way_}).first->second;
  found.most = std::max(found.most / 2, 1);
  if (found.under_way >= found.most && !found.waiting.empty())
    ready_.erase({found.waiting.begin()->first, way});
}

void SetupWindow::note_readiness(const std::string& name, const Way& way) {
  if (way.under_way < way.most && !way.waiting.empty())
    ready_.emplace(way.waiting.begin()->first, name);
}

void SetupWindow::post_start_next() {
  if (std::exchange(is_posted_, true)) return;
  loop_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->start_next();
  });
}

void SetupWindow::start_next() {
  is_posted_ = false;
  while (under_way_ < most_ && !ready_.empty()) {
    const std::string name = ready_.begin()->second;
    ready_.erase(ready_.begin());
    Way& way = ways_.at(name);
    const auto start = std::move(way.waiting.extract(way.waiting.begin()).mapped());
    // Counted before it starts: it may be over, and released, when it returns.
    ++under_way_;
    ++way.under_way;
    note_readiness(name, way);
    if (!start()) release(name);
  }
}

nanoseconds SetupWindow::pause(int tries) {
  const double step = 0.1 * static_cast<double>(1 << std::clamp(tries - 1, 0, 4));
  const double seconds = step * std::uniform_real_distribution<>(0.5, 1.5)(random_);
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace train
