// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_errors.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <initializer_list>

#include "backends/command/process_link.hpp"
#include "backends/openssh/openssh_command.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

using Tries = OpensshFailure::Tries;

// The exit status of ssh for its own errors; also when a signal ended the program on the host.
constexpr int own_trouble = 255;
constexpr std::size_t max_said = 600;

// The line of the text that contains `words`; empty when none does.
std::string_view line_with(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == text.npos) return {};
  const std::size_t before = text.rfind('\n', at);
  const std::size_t start = before == text.npos ? 0 : before + 1;
  return text.substr(start, text.find('\n', at) - start);
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (text.find(word) != text.npos) return true;
  return false;
}

std::string_view after(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  return at == line.npos ? std::string_view() : line.substr(at + words.size());
}

// The text without the lines that contain `words`, which our own message already covers.
std::string without_lines_with(std::string_view text, std::string_view words) {
  std::string rest;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (text.substr(0, end).find(words) == text.npos) rest += text.substr(0, end);
    text.remove_prefix(end);
  }
  return printable(rest, max_said);
}

std::string said_apart_from(const OpensshLog& log, std::string_view words) {
  const std::string rest = without_lines_with(log.text(), words);
  return rest.empty() ? "" : fmt::format("; ssh said '{}'", rest);
}

OpensshFailure failure(std::string message, std::string hint, Tries tries = Tries::one) {
  return {make_error(ErrorClass::host, std::move(message), std::move(hint)), tries};
}

// The output of a login shell, after "; "; empty when there is none.
std::string printed(const OpensshLog& log, const std::string& noise) {
  const std::string said = printable(log.text(), max_said);
  if (!said.empty()) return fmt::format("; it said '{}'", said);
  const std::string shown = printable(noise, 300);
  return shown.empty() ? "" : fmt::format("; it printed '{}'", shown);
}

std::string works_hint(const Host& host) {
  return fmt::format("check that this works: {} /bin/sh -c true", openssh_command_to_type(host));
}

std::string_view doing(OpensshStage stage) {
  switch (stage) {
    case OpensshStage::starting:
      return "before it was connected to";
    case OpensshStage::connecting:
      return "while it was connected to";
    case OpensshStage::exchanging:
      return "during the key exchange";
    case OpensshStage::logging_in:
      return "during the login";
    case OpensshStage::logged_in:
      return "while the agent was being started";
  }
  return "";
}

OpensshFailure changed_key(const OpensshLog& log, const std::string& at) {
  const std::string_view offending = line_with(log.text(), "Offending ");
  const std::string_view place = after(offending, " in ");
  const std::string remove = printable(line_with(log.text(), "ssh-keygen -f "), max_said);
  return failure(
      fmt::format("the host key of {} has changed: it shows {}{}", at, log.host_key(),
                  place.empty() ? "" : fmt::format(", but {} has another", place)),
      "somebody may be listening in; only if the host was reinstalled, forget the old key" +
          (remove.empty() ? "" : ": " + remove));
}

OpensshFailure unknown_key(const OpensshLog& log, const Host& host, const std::string& at) {
  std::string ssh = openssh_command_to_type(host);
  ssh.insert(3, " -o StrictHostKeyChecking=ask");
  const std::string& key = log.host_key();
  // The user can answer ssh's question with the fingerprint: it then accepts no other key.
  return failure(fmt::format("the host key of {} is not known: {}", at, key),
                 fmt::format("compare the fingerprint with the host's own (on it: ssh-keygen -lf, "
                             "for /etc/ssh/ssh_host_*_key.pub); only if it is the same, run '{} "
                             "true' and answer with it: {}",
                             ssh, key.substr(key.find(' ') + 1)));
}

OpensshFailure untrusted_key(const OpensshLog& log, const std::string& at) {
  if (const auto line = line_with(log.text(), "is marked as revoked"); !line.empty())
    return failure(fmt::format("the host key of {}, {}, is revoked", at, log.host_key()),
                   "do not use this host until its administrator has given it a new key");
  return failure(fmt::format("the host key of {}, {}, is not trusted{}", at, log.host_key(),
                             said_apart_from(log, "Host key verification failed.")),
                 "check the certificate and the known_hosts files that ssh names");
}

OpensshFailure refused_login(const OpensshLog& log, const std::string& at) {
  const std::string user = log.user().empty() ? "" : " for user " + log.user();
  std::string tried;
  for (const std::string& key : log.offered_keys())
    tried += (tried.empty() ? "tried " : ", ") + printable(key, max_said);
  if (tried.empty()) tried = "no key was offered";
  const std::string_view line = line_with(log.text(), "Permission denied (");
  const std::string_view accepted = after(line, "Permission denied (");
  const bool too_many = has_any(log.text(), {"Too many authentication failures"});
  OpensshFailure refused = failure(
      fmt::format("authentication failed{} at {}: {}{}{}", user, at, tried,
                  accepted.empty()
                      ? ""
                      : fmt::format(" (the host takes {})", accepted.substr(0, accepted.find(')'))),
                  said_apart_from(log, "Permission denied (")),
      too_many ? "name the right key: 'identity_file' in the hosts file, or IdentityFile and "
                 "IdentitiesOnly in ~/.ssh/config"
               : "check that the host's ~/.ssh/authorized_keys, or its certificate authority, "
                 "has one of these keys; nothing is prompted for");
  refused.is_refusal = true;
  return refused;
}

// "gpu-a: Name or service not known"
OpensshFailure unknown_name(std::string_view said) {
  const std::string name = printable(said.substr(0, said.find(": ")), max_said);
  return failure(
      fmt::format("name '{}' does not resolve: {}", name, printable(after(said, ": "), max_said)),
      fmt::format("check it with: getent hosts {}; or give the host an address: in the "
                  "hosts file, or HostName in ~/.ssh/config",
                  name));
}

OpensshFailure no_connection(std::string_view reason, const std::string& at) {
  if (reason.starts_with("Connection refused"))
    return failure("connection refused at " + at,
                   "check that sshd runs there and listens on this port", Tries::few);
  if (has_any(reason, {"timed out"}))
    return failure("no answer from " + at,
                   "check the address, that the host is up, and that no firewall drops the port");
  if (has_any(reason, {"No route to host", "unreachable"}))
    return failure("no route to " + at, "check the address, and that the host is up: ping it");
  return failure(fmt::format("cannot connect to {}: {}", at, reason),
                 "check the address and the port",
                 reason.starts_with("Connection reset") ? Tries::few : Tries::one);
}

// True when both the ssh to the jump host and the one through it lost their server before its
// greeting: the jump host may have too many logins.
bool is_jump_host_overrun(std::string_view text) {
  constexpr std::string_view no_greeting = "kex_exchange_identification: ";
  return has_any(after(text, no_greeting), {no_greeting});
}

OpensshFailure broken_proxy(const OpensshLog& log, const Host& host, const std::string& at) {
  const bool stays = has_any(log.text(), {"Permission denied", "Host key verification failed",
                                          "Could not resolve", "not found"});
  if (!log.jump_host().empty() && is_jump_host_overrun(log.text()))
    return failure(fmt::format("its jump host '{}' ended the connection before the login",
                               printable(log.jump_host(), max_said)),
                   "it may limit simultaneous logins (MaxStartups in sshd_config), or ban this "
                   "machine; its log says which",
                   Tries::many);
  OpensshFailure broken =
      failure(fmt::format("there is no way to {}: its ProxyCommand or ProxyJump failed{}", at,
                          said_apart_from(log, "Connection closed by UNKNOWN")),
              fmt::format("check that this works: {} true", openssh_command_to_type(host)),
              stays ? Tries::one : Tries::few);
  broken.is_refusal = has_any(log.text(), {"Permission denied ("});
  return broken;
}

// Whether the connection ended with the messages that an overloaded server causes.
bool was_cut_off(const OpensshLog& log) {
  return has_any(log.text(), {"kex_exchange_identification: ", "ssh_exchange_identification: ",
                              "banner exchange: ", "Connection closed by ", "Connection reset by ",
                              "Broken pipe"});
}

// The peer sent too much, or no SSH greeting: a retry does not help.
OpensshFailure no_ssh_server(const OpensshLog& log, const std::string& at) {
  return failure(
      fmt::format("what listens at {} does not greet as an SSH server does; ssh said '{}'", at,
                  printable(log.text(), max_said)),
      "check that an SSH server listens on this port");
}

OpensshFailure cut_off(const OpensshLog& log, const std::string& at) {
  if (log.stage() == OpensshStage::logging_in)
    return failure(fmt::format("{} ended the connection during the login; ssh said '{}'", at,
                               printable(log.text(), max_said)),
                   "it may refuse this user, or so many keys (MaxAuthTries); its log says which");
  return failure(fmt::format("the SSH server at {} ended the connection before the login; ssh said "
                             "'{}'",
                             at, printable(log.text(), max_said)),
                 "it may limit simultaneous logins (MaxStartups in sshd_config), or ban this "
                 "machine; its log says which",
                 Tries::many);
}

OpensshFailure other_trouble(const OpensshLog& log, const Host& host, const ExitStatus& end,
                             const std::string& at) {
  std::string text = fmt::format("ssh to {} {} before the login", at, exit_text(end));
  const std::string said = printable(log.text(), max_said);
  if (!said.empty()) text += fmt::format("; it said '{}'", said);
  if (has_any(said, {"configuration option", "Bad owner or permissions", "keyword "}))
    return failure(text, "mend the file that it names; ssh_config(5) describes it");
  return failure(text,
                 fmt::format("check that this works: {} true", openssh_command_to_type(host)));
}

}  // namespace

std::string openssh_endpoint(const OpensshLog& log, const Host& host) {
  std::string address = log.address();
  std::string port = log.port();
  if (address.empty()) {
    address = host.address.empty() ? host.name : host.address;
    // A port that is not in the hosts file is in ssh_config.
    port = host.port ? std::to_string(*host.port) : "";
  }
  if (port.empty()) return printable(address, 300);
  const char* form = address.find(':') == address.npos ? "{}:{}" : "[{}]:{}";
  return printable(fmt::format(fmt::runtime(form), address, port), 300);
}

OpensshFailure login_failure(const OpensshLog& log, const Host& host, const ExitStatus& end) {
  const std::string at = openssh_endpoint(log, host);
  const std::string& text = log.text();
  if (end.signal) return other_trouble(log, host, end, at);
  if (log.is_proxied() && log.stage() < OpensshStage::logging_in && was_cut_off(log))
    return broken_proxy(log, host, at);
  if (has_any(text, {"HOST IDENTIFICATION HAS CHANGED"})) return changed_key(log, at);
  if (has_any(text, {"host key is known for "})) return unknown_key(log, host, at);
  if (has_any(text, {"Host key verification failed", "is marked as revoked"}))
    return untrusted_key(log, at);
  if (has_any(text, {"Permission denied (", "Too many authentication failures"}))
    return refused_login(log, at);
  if (const auto line = line_with(text, "Could not resolve hostname "); !line.empty())
    return unknown_name(after(line, "hostname "));
  if (const auto line = line_with(text, "ssh: connect to "); !line.empty())
    return no_connection(after(after(line, " port "), ": "), at);
  if (const auto line = line_with(text, "Unable to negotiate with "); !line.empty())
    return failure(fmt::format("no common ground with the SSH server at {}: {}", at,
                               printable(line, max_said)),
                   "allow one of its algorithms for this host in ~/.ssh/config");
  if (has_any(text, {"banner exchange: "}) && has_any(text, {": invalid format"}))
    return no_ssh_server(log, at);
  if (was_cut_off(log)) return cut_off(log, at);
  return other_trouble(log, host, end, at);
}

Error silence_error(const OpensshLog& log, const Host& host, double seconds,
                    const std::string& noise) {
  const std::string at = openssh_endpoint(log, host);
  if (log.stage() == OpensshStage::connecting)
    return make_error(
        ErrorClass::host, fmt::format("no answer from {} within {:g} s", at, seconds),
        "check the address, that the host is up, and that no firewall drops the port");
  if (const auto what = printed(log, noise);
      log.stage() == OpensshStage::logged_in && !what.empty())
    return make_error(
        ErrorClass::host,
        fmt::format("{} was not done after {:g} s {}{}", at, seconds, doing(log.stage()), what),
        works_hint(host));
  return make_error(ErrorClass::host,
                    fmt::format("{} was silent for {:g} s {}", at, seconds, doing(log.stage())),
                    "check the load of the host and the network");
}

Error start_error(const OpensshLog& log, const Host& host, const ExitStatus& end,
                  const std::string& noise) {
  const std::string at = openssh_endpoint(log, host);
  if (end.signal || end.code == own_trouble)
    return with_context(lost_agent_error(log, host, end), "while the agent was being started");
  std::string text =
      fmt::format("the login shell of {} at {} {} before the agent was ready",
                  log.user().empty() ? "the user" : "user " + log.user(), at, exit_text(end));
  return make_error(ErrorClass::host, text + printed(log, noise), works_hint(host));
}

Error lost_agent_error(const OpensshLog& log, const Host& host, const ExitStatus& end) {
  const std::string at = openssh_endpoint(log, host);
  const std::string said = printable(log.text(), max_said);
  std::string text;
  std::string hint = "check the network and the host's sshd log";
  if (end.signal) {
    text = fmt::format("the ssh process to {} {}", at, exit_text(end));
    hint = "find out who ended it: on this machine, not on the host";
  } else if (end.code && end.code != own_trouble) {
    text = "the agent " + exit_text(end);
    hint = {};
  } else {
    text = fmt::format("the connection to {} was lost", at);
  }
  const bool is_agents = text.starts_with("the agent");
  if (!said.empty()) text += fmt::format("; {} said '{}'", is_agents ? "it" : "ssh", said);
  return make_error(ErrorClass::host, std::move(text), std::move(hint));
}

}  // namespace train
