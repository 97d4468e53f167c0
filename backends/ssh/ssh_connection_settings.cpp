// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <cstdlib>

#include "backends/ssh/ssh_connection.hpp"

namespace train {

namespace {

const char* environment_variable(const char* name) { return std::getenv(name); }

IdentityFile identity_file(const std::string& written, const SshTokens& tokens) {
  const auto path = expand_ssh_path(written, tokens, environment_variable);
  if (path) return {written, *path, {}};
  return {written, {}, path.error().diagnostics.front().message};
}

std::vector<std::string> agent_sockets(const SshSettings& settings, const Logins& logins,
                                       const SshTokens& tokens) {
  const std::string& agent = settings.identity_agent;
  if (agent.empty() || agent == "SSH_AUTH_SOCK") return logins.agent_sockets();
  if (agent == "none") return {};
  if (agent.starts_with("$") && !agent.starts_with("${")) {
    const char* value = environment_variable(agent.c_str() + 1);
    if (value == nullptr || *value == '\0') return {};
    return {value};
  }
  // A path that cannot be expanded is used as written, so that the error of the agent names it.
  return {expand_ssh_path(agent, tokens, environment_variable).value_or(agent)};
}

bool accepts_new_keys(const SshSettings& settings) {
  return settings.strict_host_keys == StrictHostKeys::accept_new ||
         settings.strict_host_keys == StrictHostKeys::no;
}

}  // namespace

void SshConnection::start() {
  shared_->files->config().settings_of(
      target_.destination, [weak = weak_from_this()](const Result<SshSettings>& settings) {
        if (const auto self = weak.lock()) self->on_settings(settings);
      });
}

void SshConnection::on_settings(const Result<SshSettings>& settings) {
  if (phase_ == Phase::closed) return;
  if (!settings) return fail_with(settings.error());
  settings_ = *settings;
  // Like ssh's -J, which overrides the configuration.
  if (target_.jumps) {
    settings_.proxy_jump = *target_.jumps;
    settings_.proxy_command.clear();
  } else {
    auto jumps = shared_->files->jumps_of(settings_, target_.name);
    if (!jumps) return fail_with(jumps.error());
    settings_.proxy_jump = std::move(*jumps);
  }
  endpoint_.address = settings_.hostname;
  endpoint_.port = settings_.port;
  // In known_hosts, an alias has no port.
  endpoint_.known_name = settings_.host_key_alias.empty()
                             ? known_hosts_name(endpoint_.address, endpoint_.port)
                             : settings_.host_key_alias;
  endpoint_.known_hosts_file = settings_.user_known_hosts.empty()
                                   ? "/etc/ssh/ssh_known_hosts"
                                   : settings_.user_known_hosts.front();
  shared_->files->read_known_hosts(settings_, [weak = weak_from_this()](const Result<void>& read) {
    if (const auto self = weak.lock()) self->on_known_hosts(read);
  });
}

void SshConnection::on_known_hosts(const Result<void>& read) {
  if (phase_ == Phase::closed) return;
  if (!read) return fail_with(read.error());
  look_up_known_keys();
  auto obstacle = why_not_libssh2(settings_, known_keys_, shared_->algorithms);
  if (obstacle) return report_obstacle(std::move(*obstacle));
  find_server();
}

void SshConnection::look_up_known_keys() { known_keys_ = shared_->files->known_keys_of(settings_); }

bool SshConnection::prefer_algorithms() {
  using Method = SshSession::Method;
  const auto prefer = [this](Method method, const std::vector<std::string>& names) {
    return names.empty() || session_->prefer(method, names);
  };
  const auto host_keys = host_key_preference(known_keys_);
  return prefer(Method::key_exchange, settings_.key_exchanges) &&
         prefer(Method::cipher, settings_.ciphers) && prefer(Method::mac, settings_.macs) &&
         session_->prefer(Method::host_key,
                          settings_.host_key_algorithms.empty()
                              ? host_keys
                              : common_algorithms(host_keys, settings_.host_key_algorithms));
}

// Whether the host key is known. Otherwise either the key is being accepted, after which the
// connection continues, or the connection has failed.
bool SshConnection::check_host_key() {
  const std::string shown = session_->host_key();
  HostKeyDecision decision = judge_host_key(known_keys_, shown);
  if (decision.verdict == HostKeyVerdict::unknown && accepts_new_keys(settings_)) {
    // Another link to the same host may have added it meanwhile.
    look_up_known_keys();
    decision = judge_host_key(known_keys_, shown);
    // A host with a known key of another type is not new: an impostor could hide that key. ssh
    // reports it as changed.
    if (known_keys_.empty()) {
      accept_host_key(shown);
      return false;
    }
  }
  if (decision.verdict == HostKeyVerdict::trusted) return true;
  fail_with(host_key_error(endpoint_, shown, decision, known_keys_));
  return false;
}

void SshConnection::accept_host_key(const std::string& shown) {
  phase_ = Phase::choosing_keys;
  deadline_.reset();  // writing the file has its own timeout
  shared_->accept_host_key(settings_, endpoint_, shown,
                           [weak = weak_from_this(), number = connection_] {
                             const auto self = weak.lock();
                             if (self && self->connection_ == number) self->choose_keys();
                           });
}

IdentityChoice SshConnection::identity_choice() const {
  const SshTokens tokens = shared_->files->tokens_of(settings_, target_.name);
  IdentityChoice choice;
  const bool are_defaults = are_default_identities(settings_.identity_files);
  if (!target_.identity_file.empty()) {
    choice.files.push_back(identity_file(target_.identity_file, tokens));
    choice.named = 1;
  }
  // As in ssh, default files are not used when others are given.
  if (choice.named == 0 || !are_defaults)
    for (const std::string& file : settings_.identity_files)
      choice.files.push_back(identity_file(file, tokens));
  choice.missing_is_news = !are_defaults;
  choice.only_files = settings_.identities_only;
  choice.agent_sockets = agent_sockets(settings_, *shared_->options.logins, tokens);
  choice.algorithms = settings_.public_key_algorithms;
  return choice;
}

}  // namespace train
