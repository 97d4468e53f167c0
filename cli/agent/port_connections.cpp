// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/port_connections.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "backends/network/timed_socket.hpp"
#include "backends/posix/files.hpp"

namespace train {

namespace {

// Sockets are not read while this much waits for the stream.
constexpr std::size_t most_unsent = 256u << 10;

// Programs listen on either loopback address, and most on both.
constexpr std::array<const char*, 2> loopbacks = {"127.0.0.1", "::1"};

void send_at_once(int socket) {
  constexpr int on = 1;
  (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

template <class Subscribe>
void keep(std::unique_ptr<Subscription>& subscription, bool is_wanted, Subscribe subscribe) {
  if (!is_wanted)
    subscription.reset();
  else if (!subscription)
    subscription = subscribe();
}

}  // namespace

PortConnections::PortConnections(Loop& loop, int input, int output, std::optional<int> port,
                                 Observer& observer)
    : loop_(loop),
      input_(input),
      output_(output),
      port_(port),
      observer_(observer),
      talk_(port ? PortTalk::Side::answers : PortTalk::Side::opens),
      unsent_(output) {
  make_nonblocking(input_);
  make_nonblocking(output_);
  readable_ = loop_.when_readable(input_, [this] { receive(); });
}

void PortConnections::add(Descriptor socket) {
  send_at_once(socket.get());
  connections_.emplace(talk_.open(), Connection{std::move(socket)});
  settle();
}

bool PortConnections::has_room() const { return unsent_.size() < most_unsent; }

void PortConnections::receive() {
  std::array<char, PortTalk::longest_piece> bytes;
  const ssize_t count = ::read(input_, bytes.data(), bytes.size());
  if (count < 0 && is_passing(errno)) return;
  if (count <= 0) return end({});
  talk_.feed({bytes.data(), static_cast<std::size_t>(count)});
  while (true) {
    const auto event = talk_.next();
    if (!event) return end(tl::make_unexpected(event.error()));
    if (!*event) return settle();
    handle(**event);
  }
}

void PortConnections::handle(const PortEvent& event) {
  const std::uint32_t number = event.connection;
  Connection& connection = connections_[number];
  switch (event.kind) {
    case PortEvent::Kind::opened:
      return connect(number, connection);
    case PortEvent::Kind::bytes:
      refused_.clear();
      connection.waiting += event.payload;
      return write(number, connection);
    case PortEvent::Kind::end:
      connection.peer_has_ended = true;
      return write(number, connection);
    case PortEvent::Kind::reset:
      if (event.payload.empty() || event.payload == refused_) return;
      refused_ = event.payload;
      return observer_.refused(refused_);
  }
}

// Tries the next address, without waiting: a program whose queue is full may not answer for
// minutes.
void PortConnections::connect(std::uint32_t number, Connection& connection) {
  connection.writable.reset();
  while (connection.tried < loopbacks.size()) {
    const auto address = socket_address(loopbacks[connection.tried++], *port_);
    Descriptor& socket = connection.socket;
    socket.reset(
        ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* const to = reinterpret_cast<const sockaddr*>(&address->storage);
    const bool is_connected = socket && ::connect(socket.get(), to, address->size) == 0;
    connection.is_connecting = is_connected || (socket && errno == EINPROGRESS);
    if (connection.is_connecting) return send_at_once(socket.get());  // once connected, writable
    if (connection.error == 0) connection.error = errno;
  }
  talk_.reset(number, fmt::format("nothing answers on port {} there: {}", *port_,
                                  system_reason(connection.error)));
}

// The socket is writable.
void PortConnections::go_on(std::uint32_t number) {
  Connection& connection = connections_.at(number);
  const int error = connection.is_connecting ? pending_error(connection.socket) : 0;
  if (connection.error == 0) connection.error = error;
  connection.is_connecting = false;
  if (error == 0)
    write(number, connection);
  else
    connect(number, connection);
  settle();
}

void PortConnections::read(std::uint32_t number) {
  std::array<char, PortTalk::longest_piece> bytes;
  const int socket = connections_.at(number).socket.get();
  const ssize_t count = ::read(socket, bytes.data(), std::min(bytes.size(), talk_.room(number)));
  if (count < 0 && is_passing(errno)) return;
  if (count > 0)
    talk_.send(number, {bytes.data(), static_cast<std::size_t>(count)});
  else if (count == 0)
    talk_.end(number);
  else
    talk_.reset(number);
  settle();
}

void PortConnections::write(std::uint32_t number, Connection& connection) {
  if (connection.is_connecting) return;
  std::string& waiting = connection.waiting;
  while (!waiting.empty()) {
    const ssize_t count = ::write(connection.socket.get(), waiting.data(), waiting.size());
    if (count < 0 && is_passing(errno)) return;
    if (count < 0) {
      waiting.clear();
      return talk_.reset(number);
    }
    talk_.took(number, static_cast<std::size_t>(count));
    waiting.erase(0, static_cast<std::size_t>(count));
  }
  if (connection.peer_has_ended) (void)::shutdown(connection.socket.get(), SHUT_WR);
}

void PortConnections::end(const Result<void>& how) {
  is_over_ = true;
  readable_.reset();
  writable_.reset();
  observer_.ended(how);
  settle();
}

// Whatever has happened: sends what is to be sent, and waits for what is of use now.
void PortConnections::settle() {
  if (!is_over_) {
    if (has_room()) unsent_.add(talk_.take_frames());
    if (!unsent_.send_some()) return end({});
    keep(writable_, !unsent_.is_empty(),
         [this] { return loop_.when_writable(output_, [this] { settle(); }); });
  }
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto each = at++;
    const std::uint32_t number = each->first;
    Connection& connection = each->second;
    // What came before a reset or the end of the stream still goes to who asked for it.
    const bool has_rest = !port_ && !connection.waiting.empty();
    if (!is_open(number) && !has_rest) {
      connections_.erase(each);
      continue;
    }
    const int socket = connection.socket.get();
    const bool reads =
        is_open(number) && !connection.is_connecting && has_room() && talk_.room(number) > 0;
    keep(connection.readable, reads,
         [&] { return loop_.when_readable(socket, [this, number] { read(number); }); });
    keep(connection.writable, connection.is_connecting || !connection.waiting.empty(),
         [&] { return loop_.when_writable(socket, [this, number] { go_on(number); }); });
  }
  observer_.changed();
}

Result<void> connect_streams_to_port(int port) {
  struct Watch final : PortConnections::Observer {
    void refused(const std::string&) override {}
    void ended(const Result<void>& how) override {
      if (!how) result = tl::make_unexpected(with_context(how.error(), "train forward"));
      loop.stop();
    }
    void changed() override {}
    Loop loop;
    Result<void> result;
  } watch;
  std::signal(SIGPIPE, SIG_IGN);
  const PortConnections connections(watch.loop, STDIN_FILENO, STDOUT_FILENO, port, watch);
  watch.loop.run();
  return watch.result;
}

}  // namespace train
