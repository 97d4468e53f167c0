// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_link.hpp"

#include <fmt/format.h>

#include "backends/posix/random.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/bootstrap/bootstrap_command.hpp"

namespace train {

namespace {

constexpr std::size_t max_pending = 256u << 10;
constexpr std::size_t max_errors = 4u << 10;
constexpr int max_reads = 8;  // reads in a row, each of read_buffer's size
constexpr nanoseconds exit_timeout = std::chrono::seconds(5);
constexpr std::string_view starting = "while the agent was being started";
constexpr std::string_view copying = "while the binary was being copied there";

SshTarget target_of(const Host& host, const AgentCall& call) {
  SshTarget target{host.name, destination_of(host), host.identity_file};
  target.connect_limit = call.connect_limit;
  return target;
}

}  // namespace

SshLink::SshLink(std::shared_ptr<SshShared> shared, const Host& host, AgentCall call,
                 LinkEvents events)
    : shared_(std::move(shared)), host_(host), call_(std::move(call)), events_(std::move(events)) {}

SshLink::~SshLink() { close(); }

void SshLink::start() {
  session_ = shared_->host_sessions.find(HostSessions::key_of(host_));
  if (!session_) return log_in();
  connection_ = session_->connection();
  may_log_in_instead_ = true;
  phase_ = Phase::channel;
  deadline_ = shared_->loop.after(shared_->options.session_patience, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->log_in_instead();
  });
  session_->add(*this);
}

void SshLink::log_in() {
  session_ =
      std::make_shared<HostSession>(shared_, HostSessions::key_of(host_), target_of(host_, call_));
  connection_ = session_->connection();
  session_->add(*this);
  session_->start();
}

// The existing session opens no further channel (MaxSessions), or is dead.
void SshLink::log_in_instead() {
  may_log_in_instead_ = false;
  deadline_.reset();
  phase_ = Phase::connecting;
  shared_->host_sessions.forget(HostSessions::key_of(host_), session_.get());
  session_->remove(*this, nullptr);
  log_in();
}

void SshLink::on_failure(Error why) {
  if (may_log_in_instead_) return log_in_instead();
  fail_with(why);
}

void SshLink::on_obstacle(Libssh2Obstacle obstacle) {
  const SshOptions& options = shared_->options;
  // "ssh" in the hosts file, or as a flag, excludes other transports than libssh2.
  if (options.openssh == nullptr || host_.transport == TransportKind::ssh)
    return fail_with(obstacle_error(obstacle));
  if (options.print && call_.verb != AgentCall::Verb::reattach)
    options.print(
        fmt::format("{} is reached by OpenSSH's own client: {}", host_.name, obstacle.reason));
  phase_ = Phase::handed_over;
  other_ = options.openssh->open(host_, call_, std::move(events_));
  for (; !queue_.empty(); queue_.consume(queue_.front().size()))
    other_->send(std::string(queue_.front()));
}

void SshLink::on_login() { phase_ = Phase::channel; }

bool SshLink::step() {
  const auto self = shared_from_this();
  switch (phase_) {
    case Phase::channel:
      return step_channel();
    case Phase::exec:
      return step_exec();
    case Phase::bootstrap:
    case Phase::streaming:
      return transfer();
    case Phase::ending:
      return step_ending();
    case Phase::connecting:
    case Phase::handed_over:
    case Phase::closed:
      return false;
  }
  return false;
}

bool SshLink::step_channel() {
  SshSession& session = connection_->session();
  switch (session_->open_channel(*this)) {
    case Progress::wait:
      return false;
    case Progress::done:
      break;
    case Progress::failed:
      if (may_log_in_instead_)
        log_in_instead();
      else if (connection_->stream().ended())
        fail_broken("after the login");
      else
        fail_with(
            make_error(ErrorClass::host,
                       fmt::format("{} opens no session: {}", connection_->at(), session.trouble()),
                       "check MaxSessions and ForceCommand in its sshd_config"));
      return false;
  }
  channel_ = session.take_channel();
  may_log_in_instead_ = false;
  const std::string nonce = new_nonce();
  auto command =
      bootstrap_command({nonce, shared_->options.agent.name(), call_.key, to_string(call_.verb)});
  if (!command) {
    fail_with(command.error());
    return false;
  }
  command_ = std::move(*command);
  bootstrap_.emplace(nonce, machine_of_this_program());
  phase_ = Phase::exec;
  set_deadline(shared_->options.start_timeout, starting);
  return true;
}

bool SshLink::step_exec() {
  switch (channel_->execute(command_)) {
    case Progress::wait:
      return false;
    case Progress::done:
      phase_ = Phase::bootstrap;
      return true;
    case Progress::failed:
      break;
  }
  if (connection_->stream().ended())
    fail_broken(starting);
  else
    fail_with(make_error(
        ErrorClass::host,
        fmt::format("{} runs no commands: {}", connection_->at(), connection_->session().trouble()),
        "check the login shell of user " + connection_->user_name() + " there"));
  return false;
}

bool SshLink::transfer() {
  // Reading comes after writing: while libssh2 writes it may also receive bytes, which it keeps for
  // the next read and for which the socket will not become readable.
  bool advanced = write_some();
  if (is_closed()) return false;
  advanced = read_errors() || advanced;
  if (is_closed()) return false;
  advanced = read_output() || advanced;
  if (is_closed()) return false;
  if (!channel_->at_end()) return advanced;
  phase_ = Phase::ending;
  set_deadline(exit_timeout, "while it told how the agent ended");
  return true;
}

bool SshLink::write_some() {
  SendQueue& bytes = phase_ == Phase::streaming ? queue_ : upload_;
  bool advanced = false;
  while (!bytes.empty() && connection_->stream().pending() < max_pending) {
    const long count = channel_->write(bytes.front());
    if (count < 0) {
      fail_broken(phase_ == Phase::streaming ? "in use" : starting);
      return false;
    }
    if (count == 0) break;
    advanced = true;
    bytes.consume(static_cast<std::size_t>(count));
    connection_->stream().use(static_cast<std::size_t>(count));
  }
  // Restarting the timer once a second is enough to detect a stalled upload.
  const Instant now = shared_->loop.now();
  if (advanced && &bytes == &upload_ && now - upload_progress_ > std::chrono::seconds(1)) {
    upload_progress_ = now;
    await_upload();
  }
  return advanced;
}

bool SshLink::read_errors() {
  auto& buffer = shared_->read_buffer;
  bool advanced = false;
  for (int i = 0; i < max_reads; ++i) {
    const long count = channel_->read(SshChannel::Stream::error, buffer.data(), buffer.size());
    if (count <= 0) break;  // reading the output reports a broken session
    advanced = true;
    connection_->stream().use(static_cast<std::size_t>(count));
    if (!count_errors(static_cast<std::size_t>(count))) return false;
    errors_.append(buffer.data(), static_cast<std::size_t>(count));
    if (errors_.size() > max_errors) errors_.erase(0, errors_.size() - max_errors);
  }
  return advanced;
}

bool SshLink::read_output() {
  auto& buffer = shared_->read_buffer;
  bool advanced = false;
  for (int i = 0; i < max_reads; ++i) {
    const long count = channel_->read(SshChannel::Stream::output, buffer.data(), buffer.size());
    if (count < 0) {
      fail_broken(phase_ == Phase::streaming ? "in use" : starting);
      return false;
    }
    if (count == 0) break;
    advanced = true;
    connection_->stream().use(static_cast<std::size_t>(count));
    on_output({buffer.data(), static_cast<std::size_t>(count)});
    if (is_closed()) return false;
  }
  return advanced;
}

// Counts the bytes until the agent is ready. False when they were too many, which ends the link.
bool SshLink::count_errors(std::size_t bytes) {
  if (!bootstrap_) return true;
  const auto counted = bootstrap_->take_errors(bytes);
  if (!counted) fail_with(counted.error());
  return counted.has_value();
}

void SshLink::on_output(std::string_view bytes) {
  if (phase_ == Phase::streaming) {
    const auto on_bytes = events_.on_bytes;  // the link may end inside the call
    return on_bytes(bytes);
  }
  bootstrap_->feed(bytes);
  while (phase_ == Phase::bootstrap) {
    const auto next = bootstrap_->next();
    if (!next) return fail_with(next.error());
    if (*next == BootstrapTalk::Step::listen) return;
    if (*next == BootstrapTalk::Step::ready) return become_open();
    upload();
  }
}

void SshLink::upload() {
  await_upload();
  upload_.clear();
  upload_.push_upload(shared_->options.agent);
  connection_->post_pump();
}

void SshLink::become_open() {
  phase_ = Phase::streaming;
  deadline_.reset();
  upload_.clear();
  command_ = {};
  connection_->leave_setup();
  const LinkInfo info = link_info();
  const std::string first = bootstrap_->take_rest();
  bootstrap_.reset();
  const LinkEvents events = events_;  // the link may end inside a call
  events.on_open(info);
  if (!first.empty() && phase_ == Phase::streaming) events.on_bytes(first);
}

// Behind a jump host, only the host itself knows the address at which it was reached; without that,
// its name is used.
LinkInfo SshLink::link_info() const {
  std::string address = connection_->address();
  if (address.empty()) address = bootstrap_->host_address();
  if (address.empty()) address = connection_->endpoint().address;
  return {address,
          "ssh",
          connection_->own_address(),
          connection_->own_address_towards_jump_host(),
          connection_->connected_at(),
          connection_->logged_in_at()};
}

bool SshLink::step_ending() {
  switch (channel_->wait_closed()) {
    case Progress::wait:
      return false;
    case Progress::done:
    case Progress::failed:
      finish();
  }
  return false;
}

// The command has ended. If it ended before the agent was ready, its output says why.
void SshLink::finish() {
  const RemoteExit exit = channel_->exit();
  const std::string said = printable(errors_, 1000);
  std::string text;
  std::string hint;
  if (bootstrap_) {
    text = fmt::format("the login shell of user {} {} before the agent was ready",
                       connection_->user_name(), exit_text(exit));
    hint = works_hint();
    const std::string noise = printable(bootstrap_->noise(), 300);
    if (said.empty() && !noise.empty()) text += fmt::format("; it printed '{}'", noise);
  } else {
    text = "the agent " + exit_text(exit);
  }
  if (!said.empty()) text += fmt::format("; it said '{}'", said);
  fail_with(make_error(ErrorClass::host, std::move(text), std::move(hint)));
}

void SshLink::send(const std::shared_ptr<const std::string>& bytes) {
  if (is_closed() || bytes->empty()) return;
  if (other_) return other_->send_shared(bytes);
  queue_.push(SharedBytes(bytes));
  if (phase_ == Phase::streaming) connection_->post_pump();
}

bool SshLink::is_asking() const {
  if (other_) return other_->is_asking();
  return connection_ && connection_->is_signing();
}

std::size_t SshLink::unsent_bytes() const {
  if (other_) return other_->unsent_bytes();
  return queue_.size() + (phase_ == Phase::streaming ? connection_->stream().pending() : 0);
}

void SshLink::close() {
  if (is_closed()) return;
  phase_ = Phase::closed;
  deadline_.reset();
  if (session_) session_->remove(*this, std::move(channel_));
  other_.reset();
  queue_.clear();
  upload_.clear();
}

// Tells the user about a pause before the timeout, which is a minute.
void SshLink::await_upload() {
  const SshOptions& options = shared_->options;
  const bool is_told =
      !has_told_pause_ && options.print && options.upload_notice < options.upload_stall;
  if (!is_told) return set_deadline(options.upload_stall, copying);
  deadline_ = shared_->loop.after(options.upload_notice, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const SshOptions& limits = self->shared_->options;
    self->has_told_pause_ = true;
    limits.print(upload_pause_words(self->host_.name, limits.upload_stall));
    self->set_deadline(limits.upload_stall - limits.upload_notice, copying, limits.upload_notice);
  });
}

void SshLink::set_deadline(nanoseconds delay, std::string_view doing, nanoseconds passed) {
  deadline_ = shared_->loop.after(delay, [weak = weak_from_this(), doing, total = passed + delay] {
    const auto self = weak.lock();
    if (!self) return;
    if (self->phase_ == Phase::ending) return self->finish();
    self->fail_with(self->late_error(total, doing));
  });
}

Error SshLink::late_error(nanoseconds delay, std::string_view doing) const {
  std::string said = printable(errors_, 300);
  if (said.empty() && bootstrap_) said = printable(bootstrap_->noise(), 300);
  if (said.empty() || doing != starting) return silence_error(connection_->at(), delay, doing);
  Error error = slow_error(connection_->at(), delay, doing);
  error.diagnostics.back().message += fmt::format("; it said '{}'", said);
  error.diagnostics.back().hint = works_hint();
  return error;
}

std::string SshLink::works_hint() const {
  const Endpoint& endpoint = connection_->endpoint();
  return fmt::format("check that this works: ssh -p {} {}@{} /bin/sh -c true", endpoint.port,
                     connection_->user_name(), endpoint.address);
}

void SshLink::fail_broken(std::string_view doing) { fail_with(connection_->broken_error(doing)); }

void SshLink::fail_with(const Error& error) {
  if (is_closed()) return;
  const auto self = shared_from_this();
  close();
  const LinkEvents events = std::move(events_);
  events.on_closed(error);
}

}  // namespace train
