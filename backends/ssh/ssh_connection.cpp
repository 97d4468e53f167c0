// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "backends/ssh/jump_host.hpp"
#include "backends/ssh/ssh_connection.hpp"
#include "config_schema/hosts/host_address.hpp"

namespace train {

namespace {

// Few retries: a refused connection is rarely caused by load, since an overflowing backlog drops
// packets.
constexpr int max_refused_tries = 3;
constexpr int max_rounds = 16;  // then the other connections have their turn

bool is_of_family(const SocketAddress& address, AddressFamily family) {
  switch (family) {
    case AddressFamily::any:
      return true;
    case AddressFamily::ipv4:
      return address.storage.ss_family == AF_INET;
    case AddressFamily::ipv6:
      return address.storage.ss_family == AF_INET6;
  }
  return true;
}

}  // namespace

SshConnection::SshConnection(std::shared_ptr<SshShared> shared, SshTarget target,
                             SshSessionUser& user)
    : shared_(std::move(shared)), target_(std::move(target)), user_(&user) {}

SshConnection::~SshConnection() { close(); }

void SshConnection::find_server() {
  if (!settings_.proxy_jump.empty()) return find_jump_host();
  auto numeric = Resolver::numeric(endpoint_.address, endpoint_.port);
  if (!numeric.empty()) return on_resolved(std::move(numeric));
  shared_->resolver.resolve(endpoint_.address, endpoint_.port,
                            [weak = weak_from_this()](Result<Resolver::Addresses> addresses) {
                              if (const auto self = weak.lock())
                                self->on_resolved(std::move(addresses));
                            });
}

void SshConnection::on_resolved(Result<Resolver::Addresses> addresses) {
  if (phase_ == Phase::closed) return;
  if (!addresses) return fail_with(addresses.error());
  addresses_ = std::move(*addresses);
  std::erase_if(addresses_, [this](const SocketAddress& address) {
    return !is_of_family(address, settings_.address_family);
  });
  if (addresses_.empty()) return fail_with(family_error(endpoint_.address));
  server_ = at();
  await_room(SetupWindow::Turn::last);
}

void SshConnection::find_jump_host() {
  const auto route = parse_jump_route(settings_.proxy_jump);
  if (!route) return fail_with(route.error());
  auto jump_host = shared_->jump_hosts.find(shared_, *route);
  if (target_.jump_host && jump_host->leads_through(*target_.jump_host))
    return fail_with(make_error(
        ErrorClass::host, "ProxyJump goes round in a circle: it leads back to this host",
        "write 'ProxyJump none' in ssh's configuration for the jump host that is reached first"));
  jump_host_ = std::move(jump_host);
  server_ = jump_server(route->last);
  jump_host_->when_ready([weak = weak_from_this()](std::optional<JumpFailure> failure) {
    const auto self = weak.lock();
    if (!self || self->phase_ == Phase::closed) return;
    if (!failure) return self->await_room(SetupWindow::Turn::last);
    if (failure->obstacle) return self->report_obstacle(std::move(*failure->obstacle));
    self->fail_with(std::move(failure->error));
  });
}

void SshConnection::await_room(SetupWindow::Turn turn) {
  shared_->window->enqueue(
      server_,
      [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || self->phase_ == Phase::closed) return false;
        self->in_setup_ = true;
        self->connect();
        return true;
      },
      turn);
}

void SshConnection::connect() {
  drop_connection();
  if (jump_host_)
    connect_through_jump_host();
  else
    connect_directly();
}

nanoseconds SshConnection::connect_timeout() const {
  const nanoseconds usual = settings_.connect_timeout ? nanoseconds(*settings_.connect_timeout)
                                                      : shared_->options.connect_timeout;
  return std::min(usual, target_.connect_limit.value_or(usual));
}

void SshConnection::connect_directly() {
  auto tcp = std::make_unique<TcpStream>();
  tcp_ = tcp.get();
  stream_ = std::move(tcp);
  if (const int error = tcp_->connect(addresses_[address_])) return on_connect_failed(error);
  const auto weak = weak_from_this();
  writable_ = shared_->loop.when_writable(tcp_->fd(), [weak] {
    if (const auto self = weak.lock()) self->on_connect_ready();
  });
  deadline_ = shared_->loop.after(connect_timeout(), [weak] {
    if (const auto self = weak.lock()) self->on_connect_failed(ETIMEDOUT);
  });
}

void SshConnection::connect_through_jump_host() {
  const auto on_answer = [weak = weak_from_this(), number = connection_](ForwardAnswer answer) {
    const auto self = weak.lock();
    if (!self || self->phase_ == Phase::closed || self->connection_ != number) return;
    if (!answer.stream)
      return self->retry_or_fail(answer.may_pass ? max_refused_tries : 0, Cause::refused,
                                 answer.error);
    answer.stream->on_ready([weak] {
      if (const auto connection = weak.lock()) connection->pump();
    });
    self->stream_ = std::move(answer.stream);
    self->begin_session();
  };
  jump_host_->connect({endpoint_.address, endpoint_.port, connect_timeout(), {}, on_answer});
}

void SshConnection::on_connect_ready() {
  writable_.reset();
  const int error = tcp_->connect_result();
  if (error != 0) return on_connect_failed(error);
  begin_session();
}

void SshConnection::on_connect_failed(int error) {
  const std::string where = at();
  if (address_ + 1 < addresses_.size()) {
    ++address_;
    return connect();
  }
  const bool may_pass = error == ECONNREFUSED || error == ECONNRESET;
  retry_or_fail(may_pass ? max_refused_tries : 0, Cause::refused, connect_error(error, where));
}

// Starts again after a pause, unless `max_tries` connections were made already. Leaves the window
// meanwhile, and then waits at the front of its queue.
void SshConnection::retry_or_fail(int max_tries, Cause cause, const Error& error) {
  drop_connection();
  phase_ = Phase::waiting;
  address_ = 0;
  if (++tries_ >= max_tries) return fail_with(error);
  // Behind a jump host, `server_` names the jump host, which has not refused anything.
  if (cause == Cause::overrun && !jump_host_) shared_->window->overrun(server_);
  leave_setup();
  deadline_ = shared_->loop.after(shared_->window->pause(tries_), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->await_room(SetupWindow::Turn::first);
  });
}

// Steps until nothing advances; all packets of a round leave in one write.
void SshConnection::pump() {
  const auto self = shared_from_this();
  if (stream_) stream_->begin_turn();
  for (int round = 0; session_; ++round) {
    if (round == max_rounds) {
      post_pump();
      break;
    }
    const bool advanced = step();
    if (!session_) return;
    stream_->flush();
    if (!advanced) break;
  }
  if (session_ && stream_->is_turn_over()) post_pump();
  watch();
}

void SshConnection::post_pump() {
  if (pump_posted_) return;
  pump_posted_ = true;
  shared_->loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->pump_posted_ = false;
    if (self->session_) self->pump();
  });
}

// Watches the socket for writing only while bytes wait to be sent. For connections behind a jump
// host, the jump host watches its own socket.
void SshConnection::watch() {
  if (!session_ || !tcp_ || (stream_->pending() > 0) == (writable_ != nullptr)) return;
  if (writable_) {
    writable_.reset();
    return;
  }
  writable_ = shared_->loop.when_writable(tcp_->fd(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->pump();
  });
}

void SshConnection::report_obstacle(Libssh2Obstacle obstacle) {
  const auto self = shared_from_this();
  SshSessionUser* user = user_;
  close();
  if (user) user->on_obstacle(std::move(obstacle));
}

void SshConnection::fail_with(Error error) {
  const auto self = shared_from_this();
  SshSessionUser* user = user_;
  close();
  if (user) user->on_failure(std::move(error));
}

void SshConnection::close() {
  phase_ = Phase::closed;
  user_ = nullptr;
  drop_connection();
  jump_host_.reset();
  leave_setup();
}

void SshConnection::drop_connection() {
  ++connection_;
  signing_.reset();
  signed_.reset();
  deadline_.reset();
  readable_.reset();
  writable_.reset();
  session_.reset();
  tcp_ = nullptr;
  stream_.reset();
}

void SshConnection::leave_setup() {
  if (in_setup_) shared_->window->release(server_);
  in_setup_ = false;
}

std::string SshConnection::address() const {
  return address_ < addresses_.size() ? addresses_[address_].numeric : "";
}

std::string SshConnection::own_address_towards_jump_host() const {
  return jump_host_ ? jump_host_->own_address() : "";
}

std::string SshConnection::at() const {
  const std::string host = address();
  return endpoint_text(host.empty() ? endpoint_.address : host, endpoint_.port);
}

}  // namespace train
