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

}  // namespace

SshLink::SshLink(std::shared_ptr<SshShared> shared, const Host& host, std::string agent_key,
                 LinkEvents events)
    : shared_(std::move(shared)),
      endpoint_{host.address.empty() ? host.name : host.address, host.port},
      user_(host.user.empty() ? shared_->options.default_user : host.user),
      identity_file_(host.identity_file),
      agent_key_(std::move(agent_key)),
      events_(std::move(events)) {}

void SshLink::start() {
  in_setup_ = true;
  known_keys_ = shared_->known_hosts.keys_of(endpoint_.address, endpoint_.port);
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
  deadline_ = shared_->loop.after(shared_->options.connect_timeout, [weak] {
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
  if (!session_->prefer_host_keys(host_key_preference(known_keys_)))
    return fail_with(
        make_error(ErrorClass::bug, "cannot choose a host key algorithm: " + session_->trouble()));
  phase_ = Phase::handshake;
  set_deadline(shared_->options.handshake_timeout, "during the key exchange");
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
      // A server that is overrun closes the connection at any moment up to here.
      if (stream_->ended()) {
        retry_or_fail(shared_->options.max_tries,
                      greeting_error(at(), stream_->greeting(), stream_->error(), tries_ + 1));
        return false;
      }
      fail_with(make_error(
          ErrorClass::host,
          fmt::format("no common ground with the SSH server at {}: {}", at(), session_->trouble()),
          "check that it is an SSH server, and which algorithms it offers: ssh -v"));
      return false;
  }
  if (!check_host_key()) return false;
  login_ = shared_->identities.plan(identity_file_);
  if (login_.keys.empty()) {
    fail_with(login_error(user_, {}, login_.unusable));
    return false;
  }
  phase_ = Phase::login;
  set_deadline(shared_->options.login_timeout, "during the login");
  return true;
}

bool SshLink::check_host_key() {
  const std::string shown = session_->host_key();
  const HostKeyDecision decision = judge_host_key(known_keys_, shown);
  if (decision.verdict == HostKeyVerdict::trusted) return true;
  fail_with(host_key_error(endpoint_, shown, decision, known_keys_));
  return false;
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
    fail_with(login_error(user_, refused_, login_.unusable));
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
