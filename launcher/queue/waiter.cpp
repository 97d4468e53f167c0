// SPDX-License-Identifier: Apache-2.0
#include "launcher/queue/waiter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "config_schema/text/duration.hpp"
#include "launcher/wire/ticket_fields.hpp"

namespace train {

namespace {

double wanted_slots(const Ticket& ticket) { return std::strtod(ticket.wants.c_str(), nullptr); }

}  // namespace

std::optional<TicketOrder> order_behind_more_urgent(const Ticket& own,
                                                    const std::vector<Ticket>& others,
                                                    std::int64_t latest_ns) {
  TicketOrder order = own.order;
  for (const Ticket& other : others)
    if (other.is_own_user && other.priority < own.priority && other.order.task != own.order.task &&
        other.order.time_ns <= latest_ns)
      order.time_ns = std::max(order.time_ns, other.order.time_ns + 1);
  if (order == own.order) return std::nullopt;
  return order;
}

Waiter::Waiter(Ticket own, const std::string& task, int hosts, std::optional<nanoseconds> limit,
               Timing timing)
    : timing_(timing),
      limit_(limit),
      own_(std::move(own)),
      hosts_(static_cast<std::size_t>(hosts)) {
  own_.order = {0, 0, task};
  own_.is_final = false;
}

void Waiter::start(Instant now, std::int64_t unix_now_ns) {
  unix_offset_ns_ = unix_now_ns - now.count();
  if (limit_) give_up_at_ = now + *limit_;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) open(host, now);
}

void Waiter::open(int host, Instant now) {
  OfHost& h = at(host);
  h.state = State::opening;
  h.last_word = now;
  actions_.emplace_back(waiter_action::Open{host});
}

void Waiter::reported(int host, std::int64_t arrived_ns, std::vector<Ticket> others, Instant now,
                      int idle_slots) {
  OfHost& h = at(host);
  if (is_over_ || h.state == State::away) return;
  const bool is_new = h.state != State::standing;
  h.state = State::standing;
  h.is_known = true;
  h.back_off = milliseconds(0);
  h.last_word = now;
  h.arrived_ns = arrived_ns;
  h.others = std::move(others);
  h.idle_slots = idle_slots;
  no_host_since_.reset();
  if (!first_arrival_) first_arrival_ = now;
  // While others are before it on this host, nothing is planned with it.
  if (is_new || is_turn_on(host)) has_news_ = true;
  settle(now);
  consider(now);
}

void Waiter::note_sign_of_life(int host, Instant now) {
  if (!is_over_ && at(host).state == State::standing) at(host).last_word = now;
}

void Waiter::lost(int host, const Error& why, Instant now) {
  if (is_over_ || at(host).state == State::away) return;
  leave(host, why, now);
  settle(now);
  consider(now);
}

// The host may be unreachable for all: the others go on without it.
void Waiter::leave(int host, const Error& why, Instant now) {
  OfHost& h = at(host);
  const bool is_news = h.state == State::standing || !h.is_known;
  h.state = State::away;
  h.is_known = true;
  h.others.clear();
  h.lying_since.clear();
  h.back_off = std::clamp(2 * h.back_off, timing_.back_off, timing_.longest_back_off);
  h.open_at = now + h.back_off;
  if (is_news) actions_.emplace_back(waiter_action::ReportLost{host, why});
  if (is_news) has_news_ = true;
  if (has_any_ticket()) return;
  if (!no_host_since_) no_host_since_ = now;
  if (!first_arrival_ && are_all_known()) end(why);
}

bool Waiter::has_any_ticket() const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [](const OfHost& host) { return host.state == State::standing; });
}

bool Waiter::are_all_known() const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [](const OfHost& host) { return host.is_known; });
}

void Waiter::send_all() {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host)
    if (at(host).state != State::away) actions_.emplace_back(waiter_action::Send{host});
}

// Done once: a host that answers later has to accept the order.
void Waiter::settle(Instant now) {
  if (is_over_ || own_.is_final || !has_any_ticket()) return;
  if (!are_all_known() && now < *first_arrival_ + timing_.settle_limit) return;
  std::vector<std::int64_t> arrivals;
  for (const OfHost& host : hosts_)
    if (host.state == State::standing) arrivals.push_back(host.arrived_ns);
  std::sort(arrivals.begin(), arrivals.end());
  // A launcher whose clock is behind trusts the majority of its hosts.
  const std::int64_t lower_median = arrivals[(arrivals.size() - 1) / 2];
  unix_offset_ns_ = std::max(unix_offset_ns_, lower_median - now.count());
  own_.order.arrived_ns = std::min(arrivals.back(), latest_order_ns(now));
  own_.order.time_ns = own_.order.arrived_ns;
  own_.is_final = true;
  has_news_ = true;
  compare_clocks();
  send_all();
}

// The latest order that correct clocks allow. It can still rise by one.
std::int64_t Waiter::latest_order_ns(Instant now) const {
  return std::min(unix_offset_ns_ + now.count() + usual_spread_ns, latest_arrival - 1);
}

// All arrivals came within the limit above, or within the limit of reaching a host.
void Waiter::compare_clocks() {
  std::optional<waiter_action::ReportClocks> far;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    if (at(host).state != State::standing) continue;
    if (!far) far = {host, host};
    if (at(host).arrived_ns > at(far->ahead).arrived_ns) far->ahead = host;
    if (at(host).arrived_ns < at(far->behind).arrived_ns) far->behind = host;
  }
  if (!far) return;
  far->lead = nanoseconds(at(far->ahead).arrived_ns - at(far->behind).arrived_ns);
  far->is_passed_over = own_.order.arrived_ns < at(far->ahead).arrived_ns;
  if (far->lead.count() > usual_spread_ns) actions_.emplace_back(*far);
}

// The request that is being served has this order, so it must not change now.
void Waiter::step_behind(Instant now) {
  if (!own_.is_final || is_taking_ || steps_behind_ >= most_steps_behind) return;
  bool has_risen = false;
  for (const OfHost& host : hosts_)
    if (const auto order = order_behind_more_urgent(own_, host.others, latest_order_ns(now))) {
      own_.order = *order;
      has_risen = true;
    }
  if (!has_risen) return;
  ++steps_behind_;
  // It steps back no further than it has waited, even if the clock of its hosts is hours behind:
  // tasks that come within that time may be before it, by `blocks`.
  const std::int64_t waited_ns = (now - *first_arrival_).count();
  own_.order.arrived_ns =
      std::max(own_.order.arrived_ns, own_.order.time_ns - waited_ns - usual_spread_ns);
  send_all();
}

bool Waiter::is_before_us(const OfHost& host, const Ticket& other) const {
  return blocks(other, own_.order.task, own_.order, host.arrived_ns) &&
         (other.is_own_user ||
          std::find(host.passed.begin(), host.passed.end(), other.order.task) == host.passed.end());
}

// The number of slots of a host that must be free to pass this ticket there. A task that waits only
// on this host would have taken as many as it wants. One that waits on several hosts may lack slots
// on another, and loses nothing if as many as it wants stay free here after this task's part.
double Waiter::slots_to_pass(const Ticket& other) const {
  return wanted_slots(other) + (other.hosts == 1 ? 0 : wanted_slots(own_));
}

// Only the first tasks before this one count, all of one user: a task behind another user's cannot
// take free slots.
void Waiter::note_idle(OfHost& host, Instant now) const {
  std::map<std::string, Instant> lying;
  std::optional<std::int64_t> user;
  for (const Ticket& other : host.others) {
    if (!is_before_us(host, other)) continue;
    const bool is_first = !user || *user == other.uid;
    if (other.is_own_user || !is_first || !(wanted_slots(other) > 0) ||
        slots_to_pass(other) > host.idle_slots)
      break;
    user = other.uid;
    const auto known = host.lying_since.find(other.order.task);
    lying.emplace(other.order.task, known == host.lying_since.end() ? now : known->second);
  }
  host.lying_since = std::move(lying);
}

// Tasks that are gone need not be passed any more. The slots that a task on several hosts waits for
// must stay free.
bool Waiter::forget_passed(OfHost& host) const {
  const auto counts_again = [&](const std::string& task) {
    const auto other = std::find_if(host.others.begin(), host.others.end(),
                                    [&](const Ticket& each) { return each.order.task == task; });
    return other == host.others.end() ||
           (other->hosts != 1 && slots_to_pass(*other) > host.idle_slots);
  };
  return std::erase_if(host.passed, counts_again) > 0;
}

void Waiter::pass(Instant now) {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    OfHost& h = at(host);
    const bool has_forgotten = !is_taking_ && forget_passed(h);
    note_idle(h, now);
    bool has_passed = false;
    for (const Ticket& other : h.others) {
      const auto lying = h.lying_since.find(other.order.task);
      if (lying == h.lying_since.end() || now < lying->second + timing_.pass_limit) continue;
      h.lying_since.erase(lying);
      if (h.passed.size() == most_passed || !is_before_us(h, other)) continue;
      h.passed.push_back(other.order.task);
      actions_.emplace_back(waiter_action::ReportPassed{host, other});
      has_passed = true;
    }
    if (has_passed) note_idle(h, now);  // checks the next tasks
    has_news_ = has_news_ || has_passed;
    if ((has_forgotten || has_passed) && h.state != State::away)
      actions_.emplace_back(waiter_action::Send{host});
  }
}

Ticket Waiter::ticket(int host) const {
  Ticket ticket = own_;
  ticket.passed = at(host).passed;
  return ticket;
}

void Waiter::consider(Instant now) {
  if (plan_at_ && now >= *plan_at_) plan_at_.reset();
  if (is_over_ || !own_.is_final) return;
  step_behind(now);
  pass(now);
  if (!has_any_ticket()) return;
  const PlaceInLine here = place();
  std::pair<int, std::string> known{here.number, here.before ? here.before->order.task : ""};
  if (told_place_ != known) {
    told_place_ = std::move(known);
    actions_.emplace_back(waiter_action::ReportPlace{});
  }
  if (!has_news_ || is_taking_ || plan_at_ || !has_any_turn()) return;
  has_news_ = false;
  actions_.emplace_back(waiter_action::Plan{});
}

void Waiter::planned(Turn turn, Instant now) {
  is_taking_ = turn == Turn::fits;
  const bool stands_aside = turn == Turn::lacks_hosts;
  if (std::exchange(own_.stands_aside, stands_aside) != stands_aside) send_all();
  if (!is_taking_) consider(now);
}

void Waiter::refused(Instant now) {
  is_taking_ = false;
  has_news_ = true;
  pause_ = std::clamp(2 * pause_, timing_.pause, timing_.longest_pause);
  plan_at_ = now + pause_;
  consider(now);
}

void Waiter::tick(Instant now) {
  if (is_over_) return;
  for (int host = 0; host < static_cast<int>(hosts_.size()) && !is_over_; ++host) {
    OfHost& h = at(host);
    if (h.state == State::away) {
      if (now >= h.open_at) open(host, now);
      continue;
    }
    const bool stands = h.state == State::standing;
    const milliseconds limit = stands ? timing_.silence_limit : timing_.reach_limit;
    if (now < h.last_word + limit) continue;
    actions_.emplace_back(waiter_action::Close{host});
    leave(host,
          make_error(ErrorClass::host, fmt::format("no word from it for {}", duration_text(limit))),
          now);
  }
  if (is_over_) return;
  settle(now);
  if (give_up_at_ && now >= *give_up_at_ && !is_taking_)
    return end(
        make_error(ErrorClass::busy,
                   fmt::format("nothing was free for {}",
                               short_duration_text(std::chrono::ceil<milliseconds>(*limit_)))));
  if (no_host_since_ && first_arrival_ && !is_taking_ &&
      now >= *no_host_since_ + timing_.no_host_limit)
    return end(make_error(ErrorClass::host, fmt::format("no host was reached for {}",
                                                        duration_text(timing_.no_host_limit))));
  consider(now);
}

void Waiter::end(Error why) {
  is_over_ = true;
  actions_.emplace_back(waiter_action::GiveUp{std::move(why)});
}

std::optional<Instant> Waiter::next_deadline() const {
  if (is_over_) return std::nullopt;
  std::optional<Instant> next;
  const auto at_latest = [&next](Instant when) { next = next ? std::min(*next, when) : when; };
  for (const OfHost& host : hosts_)
    if (host.state == State::away)
      at_latest(host.open_at);
    else
      at_latest(host.last_word +
                (host.state == State::standing ? timing_.silence_limit : timing_.reach_limit));
  if (first_arrival_ && !own_.is_final && has_any_ticket())
    at_latest(*first_arrival_ + timing_.settle_limit);
  if (give_up_at_ && !is_taking_) at_latest(*give_up_at_);
  if (no_host_since_ && first_arrival_ && !is_taking_)
    at_latest(*no_host_since_ + timing_.no_host_limit);
  if (plan_at_) at_latest(*plan_at_);
  if (!own_.is_final) return next;
  for (const OfHost& host : hosts_)
    for (const auto& [task, since] : host.lying_since) at_latest(since + timing_.pass_limit);
  return next;
}

std::optional<TicketOrder> Waiter::order() const {
  if (!own_.is_final) return std::nullopt;
  return own_.order;
}

bool Waiter::is_turn_on(int host) const {
  const OfHost& h = at(host);
  return own_.is_final && h.state == State::standing &&
         std::none_of(h.others.begin(), h.others.end(),
                      [&](const Ticket& other) { return is_before_us(h, other); });
}

bool Waiter::has_any_turn() const {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host)
    if (is_turn_on(host)) return true;
  return false;
}

PlaceInLine Waiter::place() const {
  std::set<std::string> tasks;
  PlaceInLine place;
  for (const OfHost& host : hosts_)
    for (const Ticket& other : host.others) {
      if (!is_before_us(host, other)) continue;
      tasks.insert(other.order.task);
      if (!place.before || place.before->order < other.order) place.before = other;
    }
  place.number = static_cast<int>(tasks.size()) + 1;
  return place;
}

}  // namespace train
