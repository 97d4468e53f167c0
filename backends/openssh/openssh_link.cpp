// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_link.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "backends/openssh/askpass.hpp"
#include "backends/openssh/openssh_command.hpp"
#include "backends/openssh/openssh_errors.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/hosts/host_address.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

constexpr int default_ssh_port = 22;
constexpr std::size_t max_name = 200;
// An sshd waits no longer for a login (LoginGraceTime). The limit also ensures that a prompt in an
// unseen window does not block retries.
constexpr nanoseconds question_limit = std::chrono::seconds(120);
constexpr nanoseconds own_end_margin = std::chrono::seconds(1);

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
    : ProcessLink(shared, std::move(host), std::move(call), std::move(events)),
      openssh_(std::move(shared)),
      settings_{.server = endpoint_text(
                    this->host().address.empty() ? this->host().name : this->host().address,
                    this->host().port.value_or(default_ssh_port))} {}

std::shared_ptr<OpensshLink> OpensshLink::shared_self() {
  return std::static_pointer_cast<OpensshLink>(shared_from_this());
}

void OpensshLink::begin() {
  openssh_->find_program([weak = std::weak_ptr(shared_self())](const Result<std::string>& program) {
    const auto self = weak.lock();
    if (self && !self->is_closed()) self->on_program(program);
  });
}

void OpensshLink::on_program(const Result<std::string>& program) {
  // Without ssh the settings of the host cannot be read either.
  if (!program) return fail_with(program.error());
  program_ = *program;
  const HostSettingsOf& settings_of = openssh_->options.settings_of;
  if (!settings_of) return on_settings(settings_);
  settings_of(host(), [weak = std::weak_ptr(shared_self())](const Result<HostSettings>& settings) {
    if (const auto self = weak.lock()) self->on_settings(settings);
  });
}

void OpensshLink::on_settings(const Result<HostSettings>& settings) {
  if (is_closed()) return;
  if (!settings) return fail_with(settings.error());
  settings_ = *settings;
  enter_window();
}

Result<ProgramCall> OpensshLink::next_call(const std::string& bootstrap) {
  log_ = {};
  timed_stage_ = OpensshStage::starting;
  timed_connections_ = 0;
  return ProgramCall{.program = program_,
                     .arguments = openssh_arguments(host(), bootstrap, settings_.new_host_key),
                     .environment = openssh_->environment(),
                     .next_step = "install OpenSSH's client, or put its ssh first in PATH"};
}

// Until ssh reports a stage, one deadline covers all stages.
nanoseconds OpensshLink::first_limit() const {
  return connect_limit() + login_limit() + openssh_->options.start_timeout;
}

// Longer than the ConnectTimeout, since ssh enforces that itself and then tries the next address.
nanoseconds OpensshLink::connect_limit() const {
  if (call().connect_limit) return *call().connect_limit + own_end_margin;
  const nanoseconds ours = openssh_->options.connect_timeout;
  if (!settings_.connect_timeout) return ours;
  return std::max(ours, nanoseconds(*settings_.connect_timeout) + own_end_margin);
}

nanoseconds OpensshLink::login_limit() const {
  const nanoseconds ours = openssh_->options.login_timeout;
  if (!settings_.connect_timeout) return ours;
  return std::max(ours, nanoseconds(*settings_.connect_timeout) + ours / 2);
}

void OpensshLink::follow_log(bool is_timed) {
  report_accepted_keys();
  if (!is_timed) return;
  const OpensshStage stage = log_.stage();
  if (stage == timed_stage_ && log_.connections() == timed_connections_) return;
  if (stage == OpensshStage::connecting)
    set_deadline(connect_limit());
  else if (stage == OpensshStage::logged_in)
    set_deadline(openssh_->options.start_timeout);
  else if (timed_stage_ < OpensshStage::exchanging)
    set_deadline(login_limit());
  timed_stage_ = stage;
  timed_connections_ = log_.connections();
}

bool OpensshLink::is_asking() const {
  return phase() == Phase::bootstrap && log_.stage() < OpensshStage::logged_in && pid() >= 0 &&
         openssh_->loop.now() - launched() < question_limit &&
         is_run_below(pid(), openssh_->options.askpass);
}

void OpensshLink::report_accepted_keys() {
  for (const AcceptedKey& accepted : log_.take_accepted_keys()) {
    if (settings_.new_host_key == NewHostKey::accepted_for_no) openssh_->warn_of_strict_no();
    const bool is_own = !accepted.is_jump_host;
    const std::string file = is_own && !settings_.known_hosts_file.empty()
                                 ? settings_.known_hosts_file
                                 : "the known hosts";
    const std::string name =
        accepted.host.empty() ? (is_own ? host().name : "its jump host") : accepted.host;
    openssh_->print(
        fmt::format("{}the host key of {} is new and {} to {}: {}",
                    accepted.is_written ? "" : "warning: ", printable(name, max_name),
                    accepted.is_written ? "was added" : "trusted, but could not be added", file,
                    printable(accepted.key, max_name)));
  }
}

// Behind a proxy or an existing master, only the host knows the address at which it was reached;
// without that, its declared name is used.
LinkInfo OpensshLink::on_ready(const BootstrapTalk& talk) {
  const OpensshOptions& options = openssh_->options;
  if (options.logins) options.logins->logged_in(host().name, log_.means());
  LinkInfo info;
  info.transport = "openssh";
  info.address = log_.address().empty() ? talk.host_address() : log_.address();
  if (info.address.empty()) info.address = host().address.empty() ? host().name : host().address;
  if (is_own_address(talk.client_address())) info.own_address = talk.client_address();
  return info;
}

void OpensshLink::on_early_end(const ExitStatus& end) {
  if (is_of_host()) return fail_with(start_error(log_, host(), end, noise()));
  const OpensshFailure failure = login_failure(log_, host(), end);
  if (tries() >= static_cast<int>(failure.tries)) {
    Logins* const logins = openssh_->options.logins.get();
    if (failure.is_refusal && logins != nullptr) logins->refused(host().name);
    Error error = failure.error;
    if (tries() > 1) error.diagnostics.back().message += fmt::format(" (tried {} times)", tries());
    return fail_with(error);
  }
  if (failure.tries == OpensshFailure::Tries::many) openssh_->window->overrun(settings_.server);
  retry_later();
}

Error OpensshLink::lost_agent(const ExitStatus& end) const {
  return lost_agent_error(log_, host(), end);
}

Error OpensshLink::silence(double seconds) const {
  return silence_error(log_, host(), seconds, noise());
}

std::string OpensshLink::endpoint() const { return openssh_endpoint(log_, host()); }

}  // namespace train
