// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fmt/format.h>

#include "backends/link/hexadecimal.hpp"
#include "backends/ssh/ssh_link.hpp"
#include "launcher/bootstrap/bootstrap_command.hpp"

namespace train {

namespace {

// A refused connection is seldom a matter of load: an overflowing backlog drops packets.
constexpr int max_refused_tries = 3;

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

SshLink::SshLink(std::shared_ptr<SshShared> shared, const Host& host, std::string agent_key,
                 LinkEvents events)
    : shared_(std::move(shared)),
      host_(host),
      agent_key_(std::move(agent_key)),
      events_(std::move(events)) {}

void SshLink::resolve() {
  auto numeric = Resolver::numeric(endpoint_.address, endpoint_.port);
  if (!numeric.empty()) return on_resolved(std::move(numeric));
  shared_->resolver.resolve(endpoint_.address, endpoint_.port,
                            [weak = weak_from_this()](Result<Resolver::Addresses> addresses) {
                              if (const auto self = weak.lock())
                                self->on_resolved(std::move(addresses));
                            });
}

void SshLink::on_resolved(Result<Resolver::Addresses> addresses) {
  if (is_closed()) return;
  if (!addresses) return fail_with(addresses.error());
  addresses_ = std::move(*addresses);
  std::erase_if(addresses_, [this](const SocketAddress& address) {
    return !is_of_family(address, settings_.address_family);
  });
  if (addresses_.empty()) return fail_with(family_error(endpoint_.address));
  connect();
}

void SshLink::connect() {
  drop_connection();
  stream_ = std::make_unique<TcpStream>();
  if (const int error = stream_->connect(addresses_[address_])) return on_connect_failed(error);
  const auto weak = weak_from_this();
  writable_ = shared_->loop.when_writable(stream_->fd(), [weak] {
    if (const auto self = weak.lock()) self->on_connect_ready();
  });
  const nanoseconds timeout = settings_.connect_timeout ? nanoseconds(*settings_.connect_timeout)
                                                        : shared_->options.connect_timeout;
  deadline_ = shared_->loop.after(timeout, [weak] {
    if (const auto self = weak.lock()) self->on_connect_failed(ETIMEDOUT);
  });
}

void SshLink::on_connect_ready() {
  writable_.reset();
  const int error = stream_->connect_result();
  if (error != 0) return on_connect_failed(error);
  begin_session();
}

void SshLink::on_connect_failed(int error) {
  const std::string where = at();
  if (address_ + 1 < addresses_.size()) {
    ++address_;
    return connect();
  }
  const bool may_pass = error == ECONNREFUSED || error == ECONNRESET;
  retry_or_fail(may_pass ? max_refused_tries : 0, connect_error(error, where));
}

// Starts all over after a pause, unless `max_tries` connections were made already.
void SshLink::retry_or_fail(int max_tries, const Error& error) {
  drop_connection();
  phase_ = Phase::waiting;
  address_ = 0;
  if (++tries_ >= max_tries) return fail_with(error);
  deadline_ = shared_->loop.after(shared_->window->pause(tries_), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->connect();
  });
}

void SshLink::begin_session() {
  const auto self = shared_from_this();
  session_ = std::make_unique<SshSession>(*stream_);
  // A list that libssh2 does not like would leave its defaults, and another key than the known one
  // might be shown.
  if (!prefer_algorithms())
    return fail_with(
        make_error(ErrorClass::bug, "cannot choose the algorithms: " + session_->trouble()));
  phase_ = Phase::handshake;
  set_deadline(settings_.connect_timeout ? nanoseconds(*settings_.connect_timeout)
                                         : shared_->options.handshake_timeout,
               "during the key exchange");
  readable_ = shared_->loop.when_readable(stream_->fd(), [weak = weak_from_this()] {
    if (const auto link = weak.lock()) link->pump();
  });
  pump();
}

bool SshLink::step() {
  switch (phase_) {
    case Phase::handshake:
      return step_handshake();
    case Phase::login:
      return step_login();
    case Phase::channel:
      return step_channel();
    case Phase::exec:
      return step_exec();
    case Phase::bootstrap:
    case Phase::streaming:
      return transfer();
    case Phase::ending:
      return step_ending();
    case Phase::waiting:
    case Phase::handed_over:
    case Phase::closed:
      return false;
  }
  return false;
}

bool SshLink::step_handshake() {
  switch (session_->handshake()) {
    case Progress::wait:
      return false;
    case Progress::done:
      break;
    case Progress::failed:
      fail_handshake();
      return false;
  }
  return check_host_key() && plan_login();
}

void SshLink::fail_handshake() {
  // A server that is overrun closes the connection at any moment up to here.
  if (stream_->ended())
    return retry_or_fail(shared_->options.max_tries,
                         greeting_error(at(), stream_->greeting(), stream_->error(), tries_ + 1));
  if (session_->found_no_common_algorithm())
    return hand_over(
        {fmt::format("libssh2 and the SSH server at {} have no algorithm in common: {}", at(),
                     session_->trouble()),
         "allow another one there; which it offers shows: ssh -vv"});
  fail_with(make_error(
      ErrorClass::host,
      fmt::format("no common ground with the SSH server at {}: {}", at(), session_->trouble()),
      "check that it is an SSH server, and which algorithms it offers: ssh -v"));
}

bool SshLink::plan_login() {
  login_ = shared_->identities.plan(identity_choice());
  if (login_.keys.empty()) {
    fail_login();
    return false;
  }
  phase_ = Phase::login;
  set_deadline(shared_->options.login_timeout, "during the login");
  return true;
}

// No key is left to try, but for those that OpenSSH might have more luck with.
void SshLink::fail_login() {
  if (login_.foreign.empty()) return fail_with(login_error(user_, refused_, login_.unusable));
  const std::string text =
      fmt::format("{}, and libssh2 cannot use {}",
                  refused_.empty() ? "there is no other key to try" : "it refused all other keys",
                  login_.foreign.front());
  hand_over({text, "let the host accept an ed25519, ecdsa or rsa key as well"});
}

bool SshLink::step_login() {
  const LoginKey& login = login_.keys[login_key_];
  switch (session_->authenticate(user_, login)) {
    case Progress::wait:
      return false;
    case Progress::done:
      phase_ = Phase::channel;
      return true;
    case Progress::failed:
      break;
  }
  const std::string& trouble = session_->sign_trouble();
  refused_.push_back(
      fmt::format("{} ({})", login.key->origin(), trouble.empty() ? login.algorithm : trouble));
  if (stream_->ended())
    fail_with(with_context(login_error(user_, refused_, login_.unusable),
                           fmt::format("{} ended the connection (MaxAuthTries?)", at())));
  else if (++login_key_ == login_.keys.size())
    fail_login();
  else
    return true;
  return false;
}

bool SshLink::step_channel() {
  switch (session_->open_channel()) {
    case Progress::wait:
      return false;
    case Progress::done:
      break;
    case Progress::failed:
      if (stream_->ended())
        fail_broken("after the login");
      else
        fail_with(make_error(ErrorClass::host,
                             fmt::format("{} opens no session: {}", at(), session_->trouble()),
                             "check MaxSessions and ForceCommand in its sshd_config"));
      return false;
  }
  const std::string nonce = new_nonce();
  auto command = bootstrap_command({nonce, shared_->options.build_id, agent_key_});
  if (!command) {
    fail_with(command.error());
    return false;
  }
  command_ = std::move(*command);
  bootstrap_.emplace(nonce, machine_of_this_program());
  phase_ = Phase::exec;
  set_deadline(shared_->options.start_timeout, "while the agent was being started");
  return true;
}

bool SshLink::step_exec() {
  switch (session_->execute(command_)) {
    case Progress::wait:
      return false;
    case Progress::done:
      phase_ = Phase::bootstrap;
      return true;
    case Progress::failed:
      break;
  }
  if (stream_->ended())
    fail_broken("while the agent was being started");
  else
    fail_with(make_error(ErrorClass::host,
                         fmt::format("{} runs no commands: {}", at(), session_->trouble()),
                         "check the login shell of user " + user_ + " there"));
  return false;
}

}  // namespace train
