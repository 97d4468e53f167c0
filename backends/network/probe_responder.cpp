// SPDX-License-Identifier: Apache-2.0
#include "backends/network/probe_responder.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

#include "backends/network/timed_socket.hpp"
#include "backends/posix/random.hpp"

namespace train {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_connections = 256;
constexpr std::chrono::seconds connection_limit{10};
// A prober sends the token in its first packet.
constexpr std::chrono::seconds token_patience{1};

}  // namespace

struct ProbeResponder::Connection {
  Descriptor socket;
  Instant began;
  ProbeReceiver question;
  ProbeSender answer;
  std::unique_ptr<Subscription> ready = {};
  std::unique_ptr<Subscription> limit = {};
};

Result<std::unique_ptr<ProbeResponder>> ProbeResponder::open(Loop& loop) {
  Descriptor socket = listen_on_all(0);
  const int port = socket ? port_of(socket) : 0;
  if (port == 0)
    return fail(ErrorClass::host,
                "cannot listen for the probes of other hosts: " + system_reason(errno),
                "too many ports or descriptors of this host are in use, or sockets are not "
                "permitted");
  return std::unique_ptr<ProbeResponder>(new ProbeResponder(loop, std::move(socket), port));
}

ProbeResponder::ProbeResponder(Loop& loop, Descriptor socket, int port)
    : loop_(loop),
      socket_(std::move(socket)),
      port_(port),
      token_(new_nonce()),
      question_(probe_header(ProbePart::question, token_)),
      answer_(probe_header(ProbePart::answer, token_)),
      acceptor_(loop, socket_.get(), [this](Descriptor taken) { take(std::move(taken)); }) {}

ProbeResponder::~ProbeResponder() = default;

void ProbeResponder::take(Descriptor socket) {
  const int fd = socket.get();
  const auto taken = connections_.insert(
      connections_.end(),
      Connection{std::move(socket), loop_.now(), ProbeReceiver(question_), ProbeSender(answer_)});
  taken->ready = loop_.when_readable(fd, [this, taken] { receive(taken); });
  taken->limit = loop_.after(connection_limit, [this, taken] { cut_off(taken); });
  if (connections_.size() >= most_connections) make_room();
}

void ProbeResponder::make_room() {
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto next = std::next(each);
    if (!each->question.has_header() && loop_.now() - each->began >= token_patience) cut_off(each);
    each = next;
  }
  if (connections_.size() < most_connections) return;
  acceptor_.pause();
  next_look_ = loop_.after(token_patience / 4, [this] { make_room(); });
}

void ProbeResponder::receive(Connections::iterator connection) {
  switch (connection->question.receive_some(connection->socket.get())) {
    case ProbeProgress::waits:
      return;
    case ProbeProgress::complete: {
      // Stops reading, also from a peer that keeps sending.
      const int fd = connection->socket.get();
      connection->ready = loop_.when_writable(fd, [this, connection] { send(connection); });
      return;
    }
    case ProbeProgress::foreign:
    case ProbeProgress::lost:
      return cut_off(connection);
  }
}

void ProbeResponder::send(Connections::iterator connection) {
  const ProbeProgress progress = connection->answer.send_some(connection->socket.get());
  if (progress == ProbeProgress::waits) return;
  if (progress == ProbeProgress::complete) return end(connection);
  cut_off(connection);
}

// Lets the kernel drop unsent bytes, instead of keeping them for a peer that does not read.
void ProbeResponder::cut_off(Connections::iterator connection) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  (void)::setsockopt(connection->socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  end(connection);
}

void ProbeResponder::end(Connections::iterator connection) {
  connections_.erase(connection);
  next_look_.reset();
  acceptor_.go_on();
}

}  // namespace train
