// SPDX-License-Identifier: Apache-2.0
#include "backends/network/probe.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "backends/event_loop/loop.hpp"
#include "backends/network/probe_protocol.hpp"
#include "backends/network/timed_socket.hpp"
#include "backends/posix/descriptor.hpp"

namespace train {

namespace {

constexpr std::size_t most_sockets = 64;

// The answer for a failed connect. A firewall on this host causes EPERM or EACCES; one elsewhere
// may answer like a host without a listener.
ProbeAnswer reach_after(int error) {
  switch (error) {
    case ECONNREFUSED:
    case ECONNRESET:
    case EPERM:
    case EACCES:
      return ProbeAnswer::refused;
    case ETIMEDOUT:
      return ProbeAnswer::no_answer;
    default:
      return ProbeAnswer::unreachable;
  }
}

// One address of one target.
struct AddressPlace {
  std::size_t target = 0;
  std::size_t address = 0;
};

// An address that is being tried.
struct ProbeAttempt {
  AddressPlace place;
  Descriptor socket;
  Instant began;
  ProbeSender question;
  ProbeReceiver answer;
  bool is_connected = false;
  bool is_asked = false;  ///< the whole question was sent
};

// The state of a target during the probe.
struct SoughtTarget {
  std::string question;       ///< header
  std::string answer;         ///< header
  std::vector<bool> is_open;  ///< by address: no result yet
  Instant grace_end = Instant::max();
};

class Probing {
 public:
  Probing(const std::vector<ProbeTarget>& targets, const ProbePatience& patience);
  std::vector<ProbeResult> run();

 private:
  void start_some();
  void start(AddressPlace place);
  void await_events();
  void exchange(ProbeAttempt& attempt);
  void look_at_time();
  void decide(AddressPlace place, ProbeAnswer reach);
  void reached(const ProbeAttempt& attempt);
  void settle(std::size_t target);
  std::vector<bool>::reference is_open(AddressPlace place) {
    return sought_[place.target].is_open[place.address];
  }

  const std::vector<ProbeTarget>& targets_;
  const ProbePatience patience_;
  std::vector<SoughtTarget> sought_;    ///< by target
  std::vector<ProbeResult> results_;    ///< by target
  std::vector<AddressPlace> places_;    ///< all of them
  std::size_t next_ = 0;                ///< index in `places_`
  std::vector<ProbeAttempt> attempts_;  ///< at most `most_sockets`
  Instant now_ = boot_time();
};

Probing::Probing(const std::vector<ProbeTarget>& targets, const ProbePatience& patience)
    : targets_(targets), patience_(patience) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::size_t count = targets[i].addresses.size();
    results_.push_back({targets[i].host, std::vector<ProbeAnswer>(count, ProbeAnswer::untried)});
    sought_.push_back({probe_header(ProbePart::question, targets[i].token),
                       probe_header(ProbePart::answer, targets[i].token),
                       std::vector<bool>(count, true)});
    for (std::size_t k = 0; k < count; ++k) places_.push_back({i, k});
  }
  attempts_.reserve(most_sockets);
}

std::vector<ProbeResult> Probing::run() {
  for (start_some(); !attempts_.empty(); start_some()) {
    await_events();
    look_at_time();
    std::erase_if(attempts_, [&](const ProbeAttempt& each) { return !is_open(each.place); });
  }
  return std::move(results_);
}

void Probing::start_some() {
  for (; next_ < places_.size() && attempts_.size() < most_sockets; ++next_)
    if (is_open(places_[next_])) start(places_[next_]);
}

void Probing::start(AddressPlace place) {
  const ProbeTarget& target = targets_[place.target];
  const auto address = socket_address(target.addresses[place.address], target.port);
  if (!address || !is_probe_token(target.token)) return decide(place, ProbeAnswer::unreachable);
  const auto* const to = reinterpret_cast<const sockaddr*>(&address->storage);
  Descriptor socket(::socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return decide(place, errno == EAFNOSUPPORT ? ProbeAnswer::unreachable : ProbeAnswer::untried);
  // The header is sent as a packet of its own: it arrives where larger packets do not.
  constexpr int on = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket.get(), to, address->size) != 0 && errno != EINPROGRESS && errno != EINTR)
    return decide(place, reach_after(errno));
  const SoughtTarget& sought = sought_[place.target];
  attempts_.push_back({place, std::move(socket), boot_time(), ProbeSender(sought.question),
                       ProbeReceiver(sought.answer)});
}

// Waits until a socket is ready or a time limit ends, and handles the ready sockets.
void Probing::await_events() {
  std::vector<pollfd> polled;
  Instant next = Instant::max();
  for (const ProbeAttempt& each : attempts_) {
    const bool sends = !each.is_connected || !each.is_asked;
    const int events = (sends ? POLLOUT : 0) | (each.is_connected ? POLLIN : 0);
    polled.push_back({each.socket.get(), static_cast<short>(events), 0});
    next = std::min({next, each.began + patience_.limit, sought_[each.place.target].grace_end});
  }
  const milliseconds wait = std::clamp(std::chrono::ceil<milliseconds>(next - boot_time()),
                                       milliseconds(0), milliseconds(INT_MAX));
  const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(wait.count()));
  now_ = boot_time();
  if (ready <= 0) return;  // or interrupted
  for (std::size_t i = 0; i < polled.size(); ++i)
    if (polled[i].revents != 0 && is_open(attempts_[i].place)) exchange(attempts_[i]);
}

void Probing::exchange(ProbeAttempt& attempt) {
  if (!attempt.is_connected) {
    if (const int error = pending_error(attempt.socket); error != 0)
      return decide(attempt.place, reach_after(error));
    attempt.is_connected = true;
  }
  const int fd = attempt.socket.get();
  ProbeProgress progress = attempt.question.send_some(fd);
  attempt.is_asked = progress == ProbeProgress::complete;
  if (attempt.is_asked || progress == ProbeProgress::waits)
    progress = attempt.answer.receive_some(fd);
  switch (progress) {
    case ProbeProgress::waits:
      return;
    case ProbeProgress::complete:
      return reached(attempt);
    case ProbeProgress::foreign:
      return decide(attempt.place, ProbeAnswer::stranger);
    case ProbeProgress::lost:
      return decide(attempt.place, ProbeAnswer::stalled);
  }
}

void Probing::reached(const ProbeAttempt& attempt) {
  Instant& end = sought_[attempt.place.target].grace_end;
  const nanoseconds grace = std::max<nanoseconds>(patience_.grace, 3 * (now_ - attempt.began));
  if (!patience_.waits_for_all) end = std::min(end, now_ + grace);
  decide(attempt.place, ProbeAnswer::reached);
}

// Called after the events: an answer that was ready in time counts, however late it is handled.
void Probing::look_at_time() {
  for (const ProbeAttempt& each : attempts_) {
    if (is_open(each.place) && now_ - each.began >= patience_.limit)
      decide(each.place, each.is_connected ? ProbeAnswer::stalled : ProbeAnswer::no_answer);
    settle(each.place.target);
  }
}

void Probing::decide(AddressPlace place, ProbeAnswer reach) {
  results_[place.target].addresses[place.address] = reach;
  is_open(place) = false;
  settle(place.target);
}

// Closes a target when no better result can follow.
void Probing::settle(std::size_t target) {
  if (patience_.waits_for_all) return;
  const std::vector<ProbeAnswer>& found = results_[target].addresses;
  const auto best = std::find(found.begin(), found.end(), ProbeAnswer::reached);
  if (best == found.end()) return;
  std::vector<bool>& open = sought_[target].is_open;
  const auto before = open.begin() + (best - found.begin());
  const bool may_be_better = std::find(open.begin(), before, true) != before;
  if (!may_be_better || now_ >= sought_[target].grace_end)
    std::fill(open.begin(), open.end(), false);
}

}  // namespace

std::vector<ProbeResult> probe(const std::vector<ProbeTarget>& targets,
                               const ProbePatience& patience) {
  return Probing(targets, patience).run();
}

}  // namespace train
