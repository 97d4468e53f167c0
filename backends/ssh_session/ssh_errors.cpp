// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/ssh_errors.hpp"

#include <errno.h>
#include <fmt/format.h>

#include "backends/posix/descriptor.hpp"
#include "backends/ssh_formats/wire_encoding.hpp"
#include "backends/ssh_session/resolver.hpp"
#include "config_schema/experiment/entrypoint.hpp"
#include "config_schema/hosts/host_address.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

// The key type as in the names of sshd's key files.
std::string short_type(std::string_view type) {
  if (type == "ssh-rsa") return "rsa";
  return type.starts_with("ecdsa") ? "ecdsa" : "ed25519";
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : separator).append(word);
  return text;
}

Error unknown_key_error(const Endpoint& host, const std::string& blob,
                        const std::vector<KnownKey>& known) {
  const std::string type = key_type(blob);
  std::string others;
  for (const KnownKey& key : known)
    others += fmt::format("{}{} at {}:{}", others.empty() ? "" : ", ",
                          key.authority ? "a certificate authority" : key.type, key.file, key.line);
  // The hint contains the key that was shown: fetching it again might return the key of another
  // machine.
  const std::string accept =
      fmt::format("echo {} >> {}", shell_quoted(known_hosts_line(host.known_name, blob)),
                  shell_quoted(host.known_hosts_file));
  return make_error(
      ErrorClass::host,
      fmt::format("the host key of {} is not known: {} {}{}",
                  endpoint_text(host.address, host.port), type, key_fingerprint(blob),
                  others.empty() ? "" : fmt::format(" (known are only: {})", others)),
      fmt::format("compare the fingerprint with the host's own (on it: ssh-keygen -lf "
                  "/etc/ssh/ssh_host_{}_key.pub); only if it is the same, accept this "
                  "key: {}",
                  short_type(type), accept));
}

double seconds_of(std::chrono::nanoseconds delay) {
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(delay);
  return static_cast<double>(whole.count()) / 1000;
}

}  // namespace

Error connect_error(int error, const std::string& at) {
  switch (error) {
    case ECONNREFUSED:
      return make_error(ErrorClass::host, "connection refused at " + at,
                        "check that sshd runs there and listens on this port");
    case EHOSTUNREACH:
    case ENETUNREACH:
      return make_error(ErrorClass::host, fmt::format("no route to {}", at),
                        "check the address, and that the host is up: ping it");
    case ETIMEDOUT:
      return make_error(
          ErrorClass::host, fmt::format("no answer from {}", at),
          "check the address, that the host is up, and that no firewall drops the port");
    case EMFILE:
    case ENFILE:
      return make_error(ErrorClass::host, "too many open files to connect to " + at,
                        "raise the limit: ulimit -n 4096");
    default:
      return make_error(ErrorClass::host,
                        fmt::format("cannot connect to {}: {}", at, system_reason(error)),
                        "check the address and the port");
  }
}

Error family_error(const std::string& host) {
  return make_error(ErrorClass::host,
                    fmt::format("'{}' has no address of the family that ssh's configuration asks "
                                "for (AddressFamily)",
                                host),
                    "check it with: getent ahosts " + host);
}

Error greeting_error(const std::string& at, std::string_view greeting, int error, int tries) {
  std::string text = fmt::format("the SSH server at {} ended the connection before the login", at);
  if (!greeting.empty() && !greeting.starts_with("SSH-"))
    text += fmt::format(": it said '{}'", printable(greeting, 200));
  else if (error != 0)
    text += fmt::format(": {}", system_reason(error));
  return make_error(ErrorClass::host, text + fmt::format(" (tried {} times)", tries),
                    "it may limit simultaneous logins (MaxStartups in sshd_config), or ban this "
                    "machine; its log says which");
}

Error host_key_error(const Endpoint& host, const std::string& shown_blob,
                     const HostKeyDecision& decision, const std::vector<KnownKey>& known) {
  if (decision.verdict == HostKeyVerdict::revoked)
    return make_error(
        ErrorClass::host,
        fmt::format("the host key of {}, {}, is revoked at {}:{}",
                    endpoint_text(host.address, host.port), key_fingerprint(shown_blob),
                    decision.line->file, decision.line->line),
        "do not use this host until its administrator has given it a new key");
  if (decision.verdict != HostKeyVerdict::changed)
    return unknown_key_error(host, shown_blob, known);
  return make_error(
      ErrorClass::host,
      fmt::format("the host key of {} has changed: it shows {} {}, but {}:{} has {}",
                  endpoint_text(host.address, host.port), key_type(shown_blob),
                  key_fingerprint(shown_blob), decision.line->file, decision.line->line,
                  key_fingerprint(decision.line->blob)),
      fmt::format("somebody may be listening in; only if the host was reinstalled, forget the old "
                  "key: ssh-keygen -f {} -R '{}'",
                  shell_quoted(decision.line->file), host.known_name));
}

Error login_error(const std::string& user, const std::vector<std::string>& tried,
                  const std::vector<Diagnostic>& unusable) {
  std::vector<std::string> unused;
  std::string hint = "check that the host's ~/.ssh/authorized_keys has one of these public keys";
  for (const Diagnostic& diagnostic : unusable) {
    unused.push_back(diagnostic.message);
    if (tried.empty()) hint = diagnostic.hint;
  }
  std::string text = fmt::format("authentication failed for user {}: ", user);
  if (tried.empty() && unused.empty()) {
    text += "there is no key to try: no ssh-agent and none of ~/.ssh/id_ed25519, id_ecdsa, id_rsa";
    hint = "make a key and copy it to the host: ssh-keygen -t ed25519 && ssh-copy-id";
  } else if (tried.empty()) {
    text += "no key could be used";
  } else {
    text += "tried " + join(tried, ", ");
  }
  if (!unused.empty()) text += "; " + join(unused, "; ");
  return make_error(ErrorClass::host, std::move(text), std::move(hint));
}

Error lost_error(const std::string& at, int error, std::string_view doing) {
  return make_error(ErrorClass::host,
                    fmt::format("the connection to {} was lost {}: {}", at, doing,
                                error ? system_reason(error) : "closed by the host"),
                    "check the network and the host's sshd log");
}

Error silence_error(const std::string& at, std::chrono::nanoseconds delay, std::string_view doing) {
  return make_error(ErrorClass::host,
                    fmt::format("{} was silent for {:g} s {}", at, seconds_of(delay), doing),
                    "check the load of the host and the network");
}

Error slow_error(const std::string& at, std::chrono::nanoseconds delay, std::string_view doing) {
  return make_error(ErrorClass::host,
                    fmt::format("{} was not done after {:g} s {}", at, seconds_of(delay), doing),
                    "check the load of the host and the network");
}

Error excess_error(const std::string& at, Excess excess, std::string_view greeting) {
  constexpr std::size_t shown = 100;
  const auto told = [&at](std::string text) {
    return make_error(ErrorClass::host, at + std::move(text),
                      "take it out; its administrator should know what it does");
  };
  switch (excess) {
    case Excess::greeting:
      return make_error(ErrorClass::host,
                        fmt::format("{} floods: more than {} KiB came in place of an SSH server's "
                                    "greeting, which began with '{}'",
                                    at, ArrivalLimits::most_greeting >> 10,
                                    printable(greeting.substr(0, shown), shown)),
                        "check that an SSH server listens on this port");
    case Excess::before_login:
      return told(
          fmt::format(" floods: the SSH server there sent more than {} KiB before the login",
                      ArrivalLimits::most_before_login >> 10));
    case Excess::idle:
      return told(fmt::format(" floods: its SSH server sent more than {} MiB that carry nothing",
                              ArrivalLimits::most_idle >> 20));
    case Excess::unread:
      return told(" floods: its SSH server asks without end, and does not read the answers");
    case Excess::none:
      break;
  }
  return told(" ended the connection");
}

Error signature_too_late_error(const std::string& at, const std::string& key) {
  return make_error(
      ErrorClass::host,
      fmt::format("{} ended the connection while {} was waited for to sign", at, key),
      "confirm it sooner; a server waits as long as LoginGraceTime in its sshd_config");
}

Error negotiation_error(const std::string& at, const std::string& trouble) {
  return make_error(ErrorClass::host,
                    fmt::format("no common ground with the SSH server at {}: {}", at, trouble),
                    "check that it is an SSH server, and which algorithms it offers: ssh -v");
}

Error forwarding_error(const std::string& jump_host, const std::string& at, bool is_forbidden) {
  if (is_forbidden)
    return make_error(
        ErrorClass::host,
        fmt::format("its jump host '{}' forwards no connections (administratively prohibited)",
                    jump_host),
        "allow it there: AllowTcpForwarding and PermitOpen in sshd_config, 'restrict' and "
        "'no-port-forwarding' in authorized_keys");
  return make_error(
      ErrorClass::host, fmt::format("its jump host '{}' cannot connect to {}", jump_host, at),
      fmt::format("check that sshd runs there, and that the jump host knows the name: ssh {} "
                  "getent ahosts NAME",
                  jump_host));
}

Error forwarding_timeout_error(const std::string& jump_host, const std::string& at,
                               std::chrono::nanoseconds delay) {
  return make_error(
      ErrorClass::host,
      fmt::format("its jump host '{}' got no answer from {} within {:g} s", jump_host, at,
                  seconds_of(delay)),
      "check the address, that the host is up, and that no firewall between the two drops the "
      "port");
}

Error jump_host_error(const std::string& jump_host, const Error& why) {
  return with_context(why, fmt::format("its jump host '{}'", jump_host));
}

std::string exit_text(const RemoteExit& exit) {
  if (!exit.signal.empty()) return "was killed by signal " + exit.signal;
  return fmt::format("exited with status {}", exit.status);
}

}  // namespace train
