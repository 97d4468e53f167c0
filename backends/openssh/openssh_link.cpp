// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_link.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "backends/link/link_handle.hpp"
#include "backends/openssh/askpass.hpp"
#include "backends/openssh/openssh_command.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/random.hpp"
#include "config_schema/hosts/host_address.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/bootstrap/bootstrap_command.hpp"

namespace train {

namespace {

constexpr int default_ssh_port = 22;
constexpr std::size_t max_name = 200;
// An sshd waits no longer for a login (LoginGraceTime). The limit also ensures that a prompt in an
// unseen window does not block retries.
constexpr nanoseconds question_limit = std::chrono::seconds(120);
constexpr nanoseconds own_end_margin = std::chrono::seconds(1);
constexpr int max_reads = 16;  // reads in a row, each of read_buffer's size; then others have their
                               // turn
constexpr int max_last_reads = 256;

// Whether this machine has the address. Behind a proxy, the host sees the address of another
// machine.
bool is_own_address(const std::string& address) {
  sockaddr_storage any{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&any);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&any);
  socklen_t size = 0;
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    size = sizeof *v6;
  }
  if (size == 0) return false;
  const Descriptor probe(::socket(any.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return probe && ::bind(probe.get(), reinterpret_cast<const sockaddr*>(&any), size) == 0;
}

}  // namespace

OpensshLink::OpensshLink(std::shared_ptr<OpensshShared> shared, Host host, AgentCall call,
                         LinkEvents events)
    : shared_(std::move(shared)),
      host_(std::move(host)),
      call_(std::move(call)),
      events_(std::move(events)),
      settings_{.server = endpoint_text(host_.address.empty() ? host_.name : host_.address,
                                        host_.port.value_or(default_ssh_port))} {}

OpensshLink::~OpensshLink() { close(); }

void OpensshLink::begin() {
  shared_->find_program([weak = weak_from_this()](const Result<std::string>& program) {
    const auto self = weak.lock();
    if (self && !self->is_closed()) self->on_program(program);
  });
}

void OpensshLink::on_program(const Result<std::string>& program) {
  const OpensshOptions& options = shared_->options;
  // Without ssh the settings of the host cannot be read either.
  if (!program) return fail_with(program.error());
  program_ = *program;
  if (!options.settings_of) return on_settings(settings_);
  options.settings_of(host_, [weak = weak_from_this()](const Result<HostSettings>& settings) {
    if (const auto self = weak.lock()) self->on_settings(settings);
  });
}

void OpensshLink::on_settings(const Result<HostSettings>& settings) {
  if (is_closed()) return;
  if (!settings) return fail_with(settings.error());
  settings_ = *settings;
  start_in(*shared_->window, settings_.server, shared_from_this());
}

void OpensshLink::start() {
  in_setup_ = true;
  launch();
}

void OpensshLink::launch() {
  const std::string nonce = new_nonce();
  const auto command =
      bootstrap_command({nonce, shared_->options.agent.name(), call_.key, to_string(call_.verb)});
  if (!command) return fail_with(command.error());
  auto process =
      start_connected({.program = program_,
                       .arguments = openssh_arguments(host_, *command, settings_.new_host_key),
                       .environment = shared_->environment(),
                       .next_step = "install OpenSSH's client, or put its ssh first in PATH"});
  if (!process) return fail_with(process.error());
  process_ = std::move(*process);
  launched_ = shared_->loop.now();
  end_ = {};
  has_process_ended_ = has_stream_ended_ = false;
  log_ = {};
  timed_stage_ = OpensshStage::starting;
  timed_connections_ = 0;
  bootstrap_.emplace(nonce, machine_of_this_program());
  is_uploading_ = false;
  upload_.clear();
  phase_ = Phase::bootstrap;
  ++tries_;
  watch_process();
  // Until ssh reports a stage, one deadline covers all stages.
  set_deadline(connect_limit() + login_limit() + shared_->options.start_timeout);
}

void OpensshLink::watch_process() {
  const auto weak = weak_from_this();
  shared_->children.add(process_.pid, std::move(process_.pidfd), [weak](const ExitStatus& end) {
    if (const auto self = weak.lock()) self->on_process_end(end);
  });
  errors_readable_ = shared_->loop.when_readable(process_.errors.get(),
                                                 [this] { keep_alive(&OpensshLink::read_errors); });
  readable_ = shared_->loop.when_readable(process_.stream.get(),
                                          [this] { keep_alive(&OpensshLink::read_output); });
}

// The link may be destroyed inside one of its callbacks.
void OpensshLink::keep_alive(void (OpensshLink::*action)()) {
  const auto self = shared_from_this();
  (this->*action)();
}

void OpensshLink::read_errors() {
  auto& buffer = shared_->read_buffer;
  for (int i = 0; i < max_reads && process_.errors; ++i) {
    const ssize_t count = read_some(process_.errors.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      log_.finish();
      errors_readable_.reset();
      process_.errors.reset();
      break;
    }
    log_.feed({buffer.data(), static_cast<std::size_t>(count)});
    if (!bootstrap_ || log_.stage() < OpensshStage::logged_in) continue;
    const auto counted = bootstrap_->take_errors(static_cast<std::size_t>(count));
    if (!counted) return fail_with(counted.error());
  }
  follow_log();
}

// Longer than the ConnectTimeout, since ssh enforces that itself and then tries the next address.
nanoseconds OpensshLink::connect_limit() const {
  if (call_.connect_limit) return *call_.connect_limit + own_end_margin;
  const nanoseconds ours = shared_->options.connect_timeout;
  if (!settings_.connect_timeout) return ours;
  return std::max(ours, nanoseconds(*settings_.connect_timeout) + own_end_margin);
}

nanoseconds OpensshLink::login_limit() const {
  const nanoseconds ours = shared_->options.login_timeout;
  if (!settings_.connect_timeout) return ours;
  return std::max(ours, nanoseconds(*settings_.connect_timeout) + ours / 2);
}

// Each stage has its own deadline, until the host itself has answered.
void OpensshLink::follow_log() {
  report_accepted_keys();
  if (phase_ != Phase::bootstrap || is_uploading_ || has_process_ended_) return;
  const OpensshStage stage = log_.stage();
  if (stage == timed_stage_ && log_.connections() == timed_connections_) return;
  if (stage == OpensshStage::connecting)
    set_deadline(connect_limit());
  else if (stage == OpensshStage::logged_in)
    set_deadline(shared_->options.start_timeout);
  else if (timed_stage_ < OpensshStage::exchanging)
    set_deadline(login_limit());
  timed_stage_ = stage;
  timed_connections_ = log_.connections();
}

bool OpensshLink::is_asking() const {
  return phase_ == Phase::bootstrap && log_.stage() < OpensshStage::logged_in &&
         process_.pid >= 0 && shared_->loop.now() - launched_ < question_limit &&
         is_run_below(process_.pid, shared_->options.askpass);
}

void OpensshLink::report_accepted_keys() {
  for (const AcceptedKey& accepted : log_.take_accepted_keys()) {
    if (settings_.new_host_key == NewHostKey::accepted_for_no) shared_->warn_of_strict_no();
    const bool is_own = !accepted.is_jump_host;
    const std::string file = is_own && !settings_.known_hosts_file.empty()
                                 ? settings_.known_hosts_file
                                 : "the known hosts";
    const std::string name =
        accepted.host.empty() ? (is_own ? host_.name : "its jump host") : accepted.host;
    shared_->print(
        fmt::format("{}the host key of {} is new and {} to {}: {}",
                    accepted.is_written ? "" : "warning: ", printable(name, max_name),
                    accepted.is_written ? "was added" : "trusted, but could not be added", file,
                    printable(accepted.key, max_name)));
  }
}

void OpensshLink::read_output() {
  auto& buffer = shared_->read_buffer;
  // After the end of the process, reads only what is in the socket's buffer: a program that it has
  // started may hold the other end and write forever.
  const int most = has_process_ended_ ? max_last_reads : max_reads;
  for (int i = 0; process_.stream && i < most; ++i) {
    const ssize_t count = read_some(process_.stream.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EAGAIN && !has_process_ended_) return;
    if (count <= 0) return on_stream_end();
    on_output({buffer.data(), static_cast<std::size_t>(count)});
  }
  if (has_process_ended_ && process_.stream) on_stream_end();
}

void OpensshLink::on_output(std::string_view bytes) {
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

void OpensshLink::upload() {
  is_uploading_ = true;
  await_upload();
  upload_.clear();
  upload_.push_upload(shared_->options.agent);
  flush();
}

void OpensshLink::become_open() {
  phase_ = Phase::streaming;
  deadline_.reset();
  upload_.clear();
  leave_setup();
  if (shared_->options.logins) shared_->options.logins->logged_in(host_.name, log_.means());
  const LinkInfo info = link_info();
  const std::string first = bootstrap_->take_rest();
  bootstrap_.reset();
  const LinkEvents events = events_;  // the link may end inside a call
  events.on_open(info);
  if (!first.empty() && phase_ == Phase::streaming) events.on_bytes(first);
  if (phase_ == Phase::streaming) flush();
}

// Behind a proxy or an existing master, only the host knows the address at which it was reached;
// without that, its declared name is used.
LinkInfo OpensshLink::link_info() const {
  LinkInfo info;
  info.transport = "openssh";
  info.address = log_.address().empty() ? bootstrap_->host_address() : log_.address();
  if (info.address.empty()) info.address = host_.address.empty() ? host_.name : host_.address;
  if (is_own_address(bootstrap_->client_address())) info.own_address = bootstrap_->client_address();
  return info;
}

void OpensshLink::send(std::shared_ptr<const std::string> bytes) {
  if (is_closed() || has_stream_ended_) return;
  queue_.push(SharedBytes(bytes));
  if (phase_ == Phase::streaming && !writable_) flush();
}

void OpensshLink::flush() {
  SendQueue& bytes = phase_ == Phase::streaming ? queue_ : upload_;
  while (!bytes.empty() && process_.stream) {
    const std::string_view front = bytes.front();
    const ssize_t count = uninterrupted(
        [&] { return ::send(process_.stream.get(), front.data(), front.size(), MSG_NOSIGNAL); });
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) bytes.clear();  // the end of the stream reports it to the owner
    if (count > 0) bytes.consume(static_cast<std::size_t>(count));
    // Restarting the timer once a second is enough to detect a stalled upload.
    const Instant now = shared_->loop.now();
    if (phase_ == Phase::bootstrap && now - upload_progress_ > std::chrono::seconds(1)) {
      upload_progress_ = now;
      await_upload();
    }
  }
  if (bytes.empty() || !process_.stream)
    writable_.reset();
  else if (!writable_)
    writable_ = shared_->loop.when_writable(process_.stream.get(),
                                            [this] { keep_alive(&OpensshLink::flush); });
}

}  // namespace train
