// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/jump_host.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {

namespace {

// While one session waits for a host that does not answer, another one serves the rest: this is the
// limit of sessions.
constexpr std::size_t max_sessions = 16;
// How long a failure is remembered: long enough for all hosts of one launch.
constexpr nanoseconds failures_last = std::chrono::seconds(10);

// The blank is an unambiguous separator: names have none.
std::string key_of(const JumpRoute& route) {
  return jump_host_name(route.last) + " " + route.before.value_or("");
}

Error busy_error(const std::string& name) {
  return make_error(ErrorClass::host,
                    fmt::format("its jump host '{}' waits for {} other hosts that do not answer",
                                name, max_sessions),
                    "take those hosts out, and try again");
}

}  // namespace

JumpHost::JumpHost(std::shared_ptr<SshShared> shared, JumpRoute route,
                   std::optional<JumpFailure> failure)
    : shared_(std::move(shared)),
      route_(std::move(route)),
      target_{route_.last.host, route_.last, {}, route_.before, this},
      name_(jump_host_name(route_.last)),
      failure_(std::move(failure)) {}

bool JumpHost::leads_through(const JumpHost& other) const {
  if (this == &other) return true;
  return std::any_of(sessions_.begin(), sessions_.end(), [&other](const auto& session) {
    const JumpHost* next = session->connection().jump_host();
    return next && next->leads_through(other);
  });
}

std::string JumpHost::own_address() const {
  for (const auto& session : sessions_) {
    const SshConnection& connection = session->connection();
    std::string address = connection.own_address();
    if (address.empty()) address = connection.own_address_towards_jump_host();
    if (!address.empty()) return address;
  }
  return {};
}

void JumpHost::when_ready(OnReady on_ready) {
  if (is_ready_ || failure_) return report(std::move(on_ready));
  waiting_.push_back(std::move(on_ready));
  if (sessions_.empty()) add_session();
}

// The callback captures copies, since it may destroy the jump host.
void JumpHost::report(OnReady on_ready) const {
  shared_->loop.post(
      [on_ready = std::move(on_ready),
       failure = is_ready_ ? std::optional<JumpFailure>() : failure_] { on_ready(failure); });
}

void JumpHost::report_to_all() {
  for (OnReady& on_ready : std::exchange(waiting_, {})) report(std::move(on_ready));
}

void JumpHost::refuse(std::deque<ForwardRequest> requests, const Error& why) {
  for (ForwardRequest& request : requests)
    answer_later(shared_->loop, std::move(request), {nullptr, why});
}

void JumpHost::add_session() {
  const auto weak = weak_from_this();
  const auto raw = std::make_shared<const JumpSession*>(nullptr);
  JumpSession::Events events;
  events.on_login = [weak] {
    if (const auto self = weak.lock()) self->on_login();
  };
  events.on_failure = [weak, raw](JumpFailure failure) {
    if (const auto self = weak.lock()) self->on_failure(*raw, std::move(failure));
  };
  events.on_stuck = [weak](std::deque<ForwardRequest> requests) {
    if (const auto self = weak.lock()) self->carry_on(std::move(requests));
  };
  events.on_lost = [weak, raw] {
    if (const auto self = weak.lock()) self->on_lost(*raw);
  };
  auto session = std::make_shared<JumpSession>(shared_, target_, std::move(events));
  *raw = session.get();
  sessions_.push_back(session);
  session->start();
}

void JumpHost::on_login() {
  const auto self = shared_from_this();
  is_ready_ = true;
  carry_on(std::exchange(requests_, {}));
  report_to_all();
}

// A failure of the first session is a failure of the jump host. When a later session fails, the
// requests that wait for it are refused.
void JumpHost::on_failure(const JumpSession* session, JumpFailure failure) {
  const auto self = shared_from_this();
  failure.error = jump_host_error(target_.name, failure.error);
  if (failure.obstacle)
    failure.obstacle->reason =
        fmt::format("its jump host '{}': {}", target_.name, failure.obstacle->reason);
  forget(session);
  if (is_ready_) return refuse(std::exchange(requests_, {}), failure.error);
  shared_->jump_hosts.remember(route_, failure, shared_->loop.now());
  failure_ = std::move(failure);
  report_to_all();
}

void JumpHost::on_lost(const JumpSession* session) {
  forget(session);
  is_lost_ = sessions_.empty();
}

void JumpHost::forget(const JumpSession* session) {
  std::erase_if(sessions_, [session](const auto& other) { return other.get() == session; });
}

std::shared_ptr<JumpSession> JumpHost::free_session() const {
  const auto found = std::find_if(sessions_.begin(), sessions_.end(), [](const auto& session) {
    return session->is_ready() && !session->is_stuck();
  });
  return found == sessions_.end() ? nullptr : *found;
}

void JumpHost::connect(ForwardRequest request) {
  request.since = shared_->loop.now();
  std::deque<ForwardRequest> requests;
  requests.push_back(std::move(request));
  carry_on(std::move(requests));
}

void JumpHost::carry_on(std::deque<ForwardRequest> requests) {
  if (const auto session = free_session()) {
    for (ForwardRequest& request : requests) session->connect(std::move(request));
    return;
  }
  if (requests.empty()) return;
  const bool is_one_on_its_way = std::any_of(sessions_.begin(), sessions_.end(),
                                             [](const auto& other) { return !other->is_ready(); });
  if (!is_one_on_its_way && sessions_.size() >= max_sessions) {
    return refuse(std::move(requests), busy_error(target_.name));
  }
  std::move(requests.begin(), requests.end(), std::back_inserter(requests_));
  if (!is_one_on_its_way) add_session();
}

std::shared_ptr<JumpHost> JumpHosts::find(const std::shared_ptr<SshShared>& shared,
                                          const JumpRoute& route) {
  Known& known = known_[key_of(route)];
  if (known.failure && shared->loop.now() - known.failed > failures_last) known.failure.reset();
  auto jump_host = known.jump_host.lock();
  if (jump_host && jump_host->is_usable()) return jump_host;
  jump_host = std::make_shared<JumpHost>(shared, route, known.failure);
  known.jump_host = jump_host;
  return jump_host;
}

void JumpHosts::remember(const JumpRoute& route, const JumpFailure& failure, Instant now) {
  Known& known = known_[key_of(route)];
  known.failure = failure;
  known.failed = now;
}

}  // namespace train
