// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "backends/ssh/ssh_connection.hpp"

namespace train {

void SshConnection::begin_session() {
  session_ = std::make_unique<SshSession>(*stream_);
  connected_at_ = shared_->loop.now();
  // If libssh2 rejects a list, it keeps its defaults, and the server might then show another key
  // than the known one.
  if (!prefer_algorithms())
    return fail_with(
        make_error(ErrorClass::bug, "cannot choose the algorithms: " + session_->trouble()));
  phase_ = Phase::handshake;
  set_deadline(settings_.connect_timeout ? nanoseconds(*settings_.connect_timeout)
                                         : shared_->options.handshake_timeout,
               "during the key exchange");
  if (tcp_)
    readable_ = shared_->loop.when_readable(stream_->fd(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->pump();
    });
  pump();
}

bool SshConnection::step() {
  switch (phase_) {
    case Phase::handshake:
      return step_handshake();
    case Phase::choosing_keys:
      return listen_only();
    case Phase::login:
      return signing_ ? listen_only() : step_login();
    case Phase::logged_in:
      return user_->step();
    case Phase::waiting:
    case Phase::closed:
      return false;
  }
  return false;
}

bool SshConnection::step_handshake() {
  switch (session_->handshake()) {
    case Progress::wait:
      return false;
    case Progress::done:
      break;
    case Progress::failed:
      fail_handshake();
      return false;
  }
  if (check_host_key()) choose_keys();
  return false;
}

void SshConnection::fail_handshake() {
  if (stream_->cause() || stream_->excess() != Excess::none)
    return fail_with(broken_error("during the key exchange"));
  // An overloaded server (MaxStartups) may close the connection at any moment up to here.
  if (stream_->ended())
    return retry_or_fail(shared_->options.max_tries, Cause::overrun,
                         greeting_error(at(), stream_->greeting(), stream_->error(), tries_ + 1));
  if (session_->found_no_common_algorithm())
    return report_obstacle(
        {fmt::format("libssh2 and the SSH server at {} have no algorithm in common: {}", at(),
                     session_->trouble()),
         "allow another one there; which it offers shows: ssh -vv"});
  fail_with(negotiation_error(at(), session_->trouble()));
}

void SshConnection::choose_keys() {
  phase_ = Phase::choosing_keys;
  deadline_.reset();  // reading the keys has its own timeout
  shared_->login_plans.make(
      identity_choice(), [weak = weak_from_this(), number = connection_](Result<LoginPlan> plan) {
        const auto self = weak.lock();
        if (self && self->connection_ == number) self->on_keys(std::move(plan));
      });
}

void SshConnection::on_keys(Result<LoginPlan> plan) {
  if (!plan) return fail_with(std::move(plan.error()));
  login_ = std::move(*plan);
  login_key_ = 0;
  std::erase_if(login_.keys, [this](const LoginKey& login) {
    return tried_.contains({login.key->public_blob(), login.algorithm});
  });
  if (login_.keys.empty()) return fail_login();
  phase_ = Phase::login;
  set_deadline(shared_->options.login_timeout, "during the login");
  pump();
}

// While this side waits for files or ssh-agent, the server can only end the connection. Other bytes
// are received and kept, since the loop would report the socket again and again.
bool SshConnection::listen_only() {
  const bool is_too_much = !stream_->receive_ahead();
  if (!is_too_much && !stream_->ended()) return false;
  if (is_too_much)
    fail_with(excess_error(at(), Excess::before_login, {}));
  else if (signing_ && !stream_->cause())
    fail_with(signature_too_late_error(at(), login_.keys[login_key_].key->origin()));
  else
    fail_with(broken_error("before the login"));
  return false;
}

// No key is left to try, except those that OpenSSH may be able to use.
void SshConnection::fail_login() {
  note_refusal();
  if (login_.foreign.empty())
    return fail_with(login_error(settings_.user, refused_, login_.unusable));
  const std::string text =
      fmt::format("{}, and libssh2 cannot use {}",
                  refused_.empty() ? "there is no other key to try" : "it refused all other keys",
                  login_.foreign.front());
  report_obstacle({text, "let the host accept an ed25519, ecdsa or rsa key as well"});
}

// The agents are read again for the next try, since their keys may change.
void SshConnection::note_refusal() {
  shared_->login_plans.forget_agents();
  shared_->options.logins->refused(target_.name);
}

bool SshConnection::step_login() {
  const LoginKey& login = login_.keys[login_key_];
  const auto sign_as_asked = [this, &login](const std::string& data, const std::string& algorithm) {
    return sign(login, data, algorithm);
  };
  switch (session_->authenticate(settings_.user, login, sign_as_asked)) {
    case Progress::wait:
      return false;
    case Progress::done:
      phase_ = Phase::logged_in;
      logged_in_at_ = shared_->loop.now();
      deadline_.reset();
      stream_->log_in();
      shared_->options.logins->logged_in(target_.name,
                                         login.is_in_file ? LoginMeans::file : LoginMeans::agent);
      user_->on_login();
      return true;
    case Progress::failed:
      break;
  }
  // The server requests a signature only for a key that it accepts.
  const std::string& trouble = session_->sign_trouble();
  if (login.key->is_locked() && !trouble.empty()) {
    open_key(login.key);
    return false;
  }
  tried_.emplace(login.key->public_blob(), login.algorithm);
  refused_.push_back(
      fmt::format("{} ({})", login.key->origin(), trouble.empty() ? login.algorithm : trouble));
  if (stream_->cause() || stream_->excess() != Excess::none) {
    fail_with(broken_error("during the login"));
  } else if (stream_->ended()) {
    note_refusal();
    fail_with(with_context(login_error(settings_.user, refused_, login_.unusable),
                           fmt::format("{} ended the connection (MaxAuthTries?)", at())));
  } else if (++login_key_ == login_.keys.size()) {
    fail_login();
  } else {
    return true;
  }
  return false;
}

// The login timeout is off during a signature: ssh-agent may ask the user, which takes long. The
// server's own limit ends the wait.
std::optional<Result<std::string>> SshConnection::sign(const LoginKey& login,
                                                       const std::string& data,
                                                       const std::string& algorithm) {
  if (login.key->holder().empty()) return login.key->sign(data, algorithm);
  if (signed_) return std::exchange(signed_, std::nullopt);
  deadline_.reset();
  signing_ = shared_->held_keys.sign({login.key, data, algorithm, target_.name},
                                     [weak = weak_from_this()](Result<std::string> made) {
                                       const auto self = weak.lock();
                                       if (self) self->on_signed(std::move(made));
                                     });
  return std::nullopt;
}

void SshConnection::on_signed(Result<std::string> made) {
  signing_.reset();
  signed_ = std::move(made);
  set_deadline(shared_->options.login_timeout, "during the login");
  pump();
}

// The server does not wait for the passphrase: the connection is closed, and made again afterwards.
void SshConnection::open_key(const std::shared_ptr<SigningKey>& key) {
  drop_connection();
  phase_ = Phase::waiting;
  leave_setup();
  shared_->passphrases.open(
      key, [weak = weak_from_this(), key](const Result<std::shared_ptr<SigningKey>>& opened) {
        const auto self = weak.lock();
        if (!self || self->phase_ == Phase::closed) return;
        self->shared_->login_plans.replace(key, opened);
        self->await_room(SetupWindow::Turn::first);
      });
}

Error SshConnection::broken_error(std::string_view doing) const {
  if (stream_->cause()) return *stream_->cause();
  if (stream_->excess() != Excess::none)
    return excess_error(at(), stream_->excess(), stream_->greeting());
  if (stream_->ended()) return lost_error(at(), stream_->error(), doing);
  return make_error(
      ErrorClass::host,
      fmt::format("the connection to {} broke {}: {}", at(), doing, session_->trouble()),
      "check the host's sshd log");
}

void SshConnection::set_deadline(nanoseconds delay, std::string_view doing) {
  const auto on_time = [weak = weak_from_this(), doing, delay, before = stream_->received()] {
    const auto self = weak.lock();
    if (!self) return;
    const bool was_silent = self->stream_->received() == before;
    self->fail_with(was_silent ? silence_error(self->at(), delay, doing)
                               : slow_error(self->at(), delay, doing));
  };
  deadline_ = shared_->loop.after(delay, on_time);
}

}  // namespace train
