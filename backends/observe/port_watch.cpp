// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/port_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace train {

namespace {

// Ranks need a second or more before they listen on a port. An earlier look would find nothing and
// cost time while everything starts.
constexpr std::chrono::milliseconds first_pause{500};
constexpr std::chrono::seconds longest_port_pause{30};

}  // namespace

PortWatch::PortWatch(Loop& loop, std::set<std::uint16_t> ports, OnTaken on_taken)
    : loop_(loop),
      open_(std::move(ports)),
      on_taken_(std::move(on_taken)),
      pause_(first_pause),
      background_(loop) {
  look_later();
}

void PortWatch::look_later() {
  if (open_.empty()) return;
  timer_ = loop_.after(pause_, [this] { begin(); });
  pause_ = std::min<nanoseconds>(2 * pause_, longest_port_pause);
}

void PortWatch::look(std::function<void()> done) {
  if (open_.empty()) return loop_.post(std::move(done));
  waiting_.push_back(std::move(done));
  if (!is_looking_) begin();
}

PortWatch::Found PortWatch::look_at(const std::set<std::uint16_t>& ports) {
  Found found;
  for (const PortListener& listener : listeners()) {
    if (!ports.contains(listener.port)) continue;
    const ListenerOwner owner = owner_of_listener(listener);
    if (owner == ListenerOwner::ours) found.ours.insert(listener.port);
    if (owner == ListenerOwner::other) found.others.push_back(listener);
  }
  return found;
}

// A `look` requested while another is under way waits for the next one: the current one may have
// begun too early.
void PortWatch::begin() {
  if (std::exchange(is_looking_, true)) return;
  timer_.reset();
  const auto found = std::make_shared<Found>();
  auto waiting = std::exchange(waiting_, {});
  const auto begun = background_.run([found, ports = open_] { *found = look_at(ports); },
                                     [this, found, waiting] { looked(*found, waiting); });
  if (begun) return;
  // Without a thread there is no look, but `done` must be called.
  is_looking_ = false;
  for (auto& done : waiting) loop_.post(std::move(done));
  look_later();
}

void PortWatch::looked(const Found& found, const std::vector<std::function<void()>>& waiting) {
  is_looking_ = false;
  for (const PortListener& other : found.others)
    if (open_.erase(other.port) > 0) on_taken_(other);
  for (const std::uint16_t port : found.ours) open_.erase(port);
  for (const auto& done : waiting) done();
  if (waiting_.empty()) return look_later();
  if (!open_.empty()) return begin();
  for (auto& done : std::exchange(waiting_, {})) loop_.post(std::move(done));
}

}  // namespace train
