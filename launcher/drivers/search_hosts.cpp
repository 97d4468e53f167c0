// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/search_hosts.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "launcher/ports/earliest.hpp"

namespace train {

namespace {

bool overlap(const HostUse& one, const HostUse& other) {
  if (one.host != other.host) return false;
  if (one.slots.empty() || other.slots.empty()) return true;
  return std::any_of(one.slots.begin(), one.slots.end(),
                     [&](const auto& slot) { return other.slots.contains(slot.first); });
}

// Doubles with each try.
milliseconds pause_after(int tries, milliseconds first, milliseconds longest) {
  milliseconds pause = first;
  for (int i = 1; i < tries && pause < longest; ++i) pause *= 2;
  return std::min(pause, longest);
}

// Ends entries whose time is over. Returns whether there are any.
template <class Entry>
bool end_times(std::vector<Entry>& entries, Instant now) {
  bool is_any = false;
  for (Entry& each : entries) {
    if (!each.until || now < *each.until) continue;
    each.until.reset();
    is_any = true;
  }
  return is_any;
}

}  // namespace

Occupancy SearchHosts::held() const {
  Occupancy held;
  for (const Held& each : held_)
    if (each.until) held.push_back(each.use);
  return held;
}

bool SearchHosts::are_any_held() const {
  return std::any_of(held_.begin(), held_.end(), [](const Held& each) { return each.until; });
}

std::optional<milliseconds> SearchHosts::leave_out(const std::string& host, Instant now) {
  auto found = std::find_if(left_out_.begin(), left_out_.end(),
                            [&](const LeftOut& each) { return each.host == host; });
  if (found == left_out_.end()) {
    found = left_out_.insert(found, LeftOut{host, 1, {}});
  } else {
    if (found->until) return std::nullopt;
    ++found->failures;
  }
  const milliseconds pause =
      pause_after(found->failures, timing_.left_out, timing_.longest_left_out);
  found->until = now + pause;
  find_left();
  return pause;
}

void SearchHosts::leave_out_for_good(const std::string& host) {
  std::erase_if(left_out_, [&](const LeftOut& each) { return each.host == host; });
  left_out_.push_back({host, std::numeric_limits<int>::max(), Instant::max()});
  find_left();
}

void SearchHosts::hold(HostUse use, Instant now) {
  int refusals = 1;
  std::erase_if(held_, [&](const Held& each) {
    if (each.until || !overlap(each.use, use)) return false;
    refusals = std::max(refusals, each.refusals + 1);
    return each.use.slots == use.slots;
  });
  const Instant until = now + pause_after(refusals, timing_.held, timing_.longest_held);
  held_.push_back({std::move(use), refusals, until});
}

void SearchHosts::started_on(const HostUse& use) {
  std::erase_if(held_, [&](const Held& each) { return !each.until && overlap(each.use, use); });
  std::erase_if(left_out_,
                [&](const LeftOut& each) { return !each.until && each.host == use.host; });
}

bool SearchHosts::take_back_early() {
  bool is_any = false;
  for (LeftOut& each : left_out_) {
    if (!each.until || each.failures > 1) continue;
    each.until.reset();
    is_any = true;
  }
  if (is_any) find_left();
  return is_any;
}

bool SearchHosts::tick(Instant now) {
  const bool are_back = end_times(left_out_, now);
  if (are_back) find_left();
  return end_times(held_, now) || are_back;
}

std::optional<Instant> SearchHosts::next_deadline() const {
  std::optional<Instant> next;
  for (const LeftOut& each : left_out_) next = earliest({next, each.until});
  for (const Held& each : held_) next = earliest({next, each.until});
  return next;
}

// A slice can only be used as a whole.
void SearchHosts::find_left() {
  std::set<std::string> hosts;
  std::set<std::string> slices;
  for (const LeftOut& each : left_out_)
    if (each.until) hosts.insert(each.host);
  for (const Host& host : all_.hosts)
    if (hosts.contains(host.name) && !host.slice.empty()) slices.insert(host.slice);
  left_.hosts.clear();
  for (const Host& host : all_.hosts)
    if (!hosts.contains(host.name) && !slices.contains(host.slice)) left_.hosts.push_back(host);
}

}  // namespace train
