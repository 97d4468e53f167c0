// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_errors.hpp"

#include "tests/catch.hpp"

using namespace train;
using Tries = OpensshFailure::Tries;

namespace {

const std::string connecting = "debug1: Connecting to gpu-a [10.77.1.3] port 22.\r\n";
const std::string connected = connecting + "debug1: Connection established.\r\n";
const std::string key_shown = connected +
                              "debug1: Authenticating to gpu-a:22 as 'me'\r\n"
                              "debug1: Server host key: ssh-ed25519 SHA256:8zSL\r\n";
const std::string proxied = "debug1: Executing proxy command: exec nc gpu-a 22\r\n";

OpensshLog log_of(const std::string& text) {
  OpensshLog log;
  log.feed(text);
  log.finish();
  return log;
}

Host host_a() {
  Host host;
  host.name = host.address = "gpu-a";
  return host;
}

constexpr ExitStatus exit_255{.code = 255};

struct Case {
  std::string log;
  std::string message;
  std::string hint;
  Tries tries;
};

}  // namespace

TEST_CASE("ssh's words about a login that failed become a cause and a next step") {
  const std::vector<Case> cases = {
      {connecting + "ssh: connect to host gpu-a port 22: Connection refused\r\n",
       "connection refused at 10.77.1.3:22", "check that sshd runs there", Tries::few},
      {connecting + "ssh: connect to host gpu-a port 22: Connection timed out\r\n",
       "no answer from 10.77.1.3:22", "no firewall drops the port", Tries::one},
      {connecting + "ssh: connect to host gpu-a port 22: No route to host\r\n",
       "no route to 10.77.1.3:22", "ping it", Tries::one},
      {"ssh: Could not resolve hostname gpu-a: Name or service not known\r\n",
       "name 'gpu-a' does not resolve: Name or service not known", "getent hosts gpu-a",
       Tries::one},
      {key_shown + "No ED25519 host key is known for gpu-a and you have requested strict "
                   "checking.\r\nHost key verification failed.\r\n",
       "the host key of 10.77.1.3:22 is not known: ssh-ed25519 SHA256:8zSL",
       "only if it is the same, run 'ssh -o StrictHostKeyChecking=ask gpu-a true' and answer with "
       "it: SHA256:8zSL",
       Tries::one},
      {connecting +
           "kex_exchange_identification: No SSH version received in first 1024 lines from "
           "server\r\nbanner exchange: Connection to 10.77.1.3 port 22: invalid format\r\n",
       "what listens at 10.77.1.3:22 does not greet as an SSH server does; ssh said "
       "'kex_exchange_identification: No SSH version received in first 1024 lines",
       "check that an SSH server listens on this port", Tries::one},
      {key_shown + "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
                   "Offending ED25519 key in /home/me/.ssh/known_hosts:7\r\n  remove with:\r\n"
                   "  ssh-keygen -f \"/home/me/.ssh/known_hosts\" -R \"gpu-a\"\r\n"
                   "Host key verification failed.\r\n",
       "the host key of 10.77.1.3:22 has changed: it shows ssh-ed25519 SHA256:8zSL, but "
       "/home/me/.ssh/known_hosts:7 has another",
       "forget the old key: ssh-keygen -f \"/home/me/.ssh/known_hosts\" -R \"gpu-a\"", Tries::one},
      {key_shown + "@       WARNING: REVOKED HOST KEY DETECTED!               @\r\n"
                   "The ED25519 host key for gpu-a is marked as revoked.\r\n"
                   "Host key verification failed.\r\n",
       "the host key of 10.77.1.3:22, ssh-ed25519 SHA256:8zSL, is revoked", "do not use this host",
       Tries::one},
      {key_shown + "Certificate invalid: expired\r\nHost key verification failed.\r\n",
       "the host key of 10.77.1.3:22, ssh-ed25519 SHA256:8zSL, is not trusted; ssh said "
       "'Certificate invalid: expired'",
       "check the certificate", Tries::one},
      {key_shown + "debug1: Offering public key: /k ED25519 SHA256:x\r\n"
                   "me@gpu-a: Permission denied (publickey,password).\r\n",
       "authentication failed for user me at 10.77.1.3:22: tried /k ED25519 (the host takes "
       "publickey,password)",
       "authorized_keys", Tries::one},
      {key_shown +
           "Load key \"/k\": bad permissions\r\nme@gpu-a: Permission denied (publickey).\r\n",
       "authentication failed for user me at 10.77.1.3:22: no key was offered (the host takes "
       "publickey); ssh said 'Load key \"/k\": bad permissions'",
       "authorized_keys", Tries::one},
      {key_shown + "Received disconnect from 10.77.1.3 port 22:2: Too many authentication "
                   "failures\r\n",
       "no key was offered", "IdentitiesOnly", Tries::one},
      {connected + "kex_exchange_identification: Connection closed by remote host\r\n"
                   "Connection closed by 10.77.1.3 port 22\r\n",
       "the SSH server at 10.77.1.3:22 ended the connection before the login", "MaxStartups",
       Tries::many},
      {connected + "kex_exchange_identification: read: Connection reset by peer\r\n",
       "ended the connection before the login", "MaxStartups", Tries::many},
      {key_shown + "Connection closed by 10.77.1.3 port 22\r\n",
       "10.77.1.3:22 ended the connection during the login", "MaxAuthTries", Tries::one},
      {connected + "Unable to negotiate with 10.77.1.3 port 22: no matching key exchange method "
                   "found. Their offer: x\r\n",
       "no common ground with the SSH server at 10.77.1.3:22: Unable to negotiate", "algorithms",
       Tries::one},
      {proxied + "sh: 1: nc: not found\r\nkex_exchange_identification: Connection closed by remote "
                 "host\r\nConnection closed by UNKNOWN port 65535\r\n",
       "there is no way to gpu-a: its ProxyCommand or ProxyJump failed; ssh said 'sh: 1: nc: not "
       "found",
       "check that this works: ssh gpu-a true", Tries::one},
      {proxied + "kex_exchange_identification: Connection closed by remote host\r\n",
       "there is no way to gpu-a", "ssh gpu-a true", Tries::few},
      {"debug1: Setting implicit ProxyCommand from ProxyJump: ssh -v -W '[%h]:%p' gate\r\n" +
           proxied +
           "kex_exchange_identification: Connection closed by remote host\r\nConnection closed by "
           "10.77.1.1 port 22\r\nkex_exchange_identification: Connection closed by remote host\r\n",
       "its jump host 'gate' ended the connection before the login", "MaxStartups", Tries::many},
      {"/home/me/.ssh/config: line 3: Bad configuration option: prot\r\n/home/me/.ssh/config: "
       "terminating, 1 bad configuration options\r\n",
       "ssh to gpu-a exited with status 255 before the login; it said '/home/me/.ssh/config: line "
       "3: Bad configuration option: prot",
       "mend the file that it names", Tries::one},
      {"something new\r\n",
       "ssh to gpu-a exited with status 255 before the login; it said 'something new'",
       "check that this works: ssh gpu-a true", Tries::one},
  };
  for (const Case& expected : cases) {
    const OpensshFailure failure = login_failure(log_of(expected.log), host_a(), exit_255);
    INFO(render(failure.error));
    CHECK(failure.error.error_class == ErrorClass::host);
    CHECK(failure.error.diagnostics[0].message.find(expected.message) != std::string::npos);
    CHECK(failure.error.diagnostics[0].hint.find(expected.hint) != std::string::npos);
    CHECK(failure.tries == expected.tries);
  }
}

TEST_CASE("a host that takes no key is told from one that cannot be reached") {
  const auto is_refusal = [](const std::string& log) {
    return login_failure(log_of(log), host_a(), exit_255).is_refusal;
  };
  CHECK(is_refusal(key_shown + "me@gpu-a: Permission denied (publickey,password).\r\n"));
  CHECK(is_refusal(key_shown + "Received disconnect from 10.77.1.3 port 22:2: Too many "
                               "authentication failures\r\n"));
  CHECK(is_refusal(proxied + "me@gate: Permission denied (publickey).\r\n"
                             "kex_exchange_identification: Connection closed by remote host\r\n"));
  CHECK_FALSE(
      is_refusal(proxied + "kex_exchange_identification: Connection closed by remote host\r\n"));
  CHECK_FALSE(is_refusal(key_shown + "Connection closed by 10.77.1.3 port 22\r\n"));
}

TEST_CASE("a hostile host steers no terminal through ssh's words") {
  const auto failure =
      login_failure(log_of(connected + "kex_exchange_identification: \x1b[2J\x07 closed\r\n"),
                    host_a(), exit_255);
  CHECK(failure.error.diagnostics[0].message.find_first_of("\x1b\x07") == std::string::npos);
}

TEST_CASE("a stage that lasts too long is called by its name") {
  const auto message = [](const std::string& log, double seconds, const std::string& noise = "") {
    return silence_error(log_of(log), host_a(), seconds, noise).diagnostics[0].message;
  };
  CHECK(message("", 80) == "gpu-a was silent for 80 s before it was connected to");
  CHECK(message(connecting, 10) == "no answer from 10.77.1.3:22 within 10 s");
  CHECK(message(connected, 40) == "10.77.1.3:22 was silent for 40 s during the key exchange");
  CHECK(message(key_shown, 40) == "10.77.1.3:22 was silent for 40 s during the login");
  CHECK(message(key_shown + "debug1: Entering interactive session.\r\n", 30) ==
        "10.77.1.3:22 was silent for 30 s while the agent was being started");
  CHECK(message(key_shown + "debug1: Entering interactive session.\r\n", 30, "hello") ==
        "10.77.1.3:22 was not done after 30 s while the agent was being started; it printed "
        "'hello'");
  CHECK(message(key_shown + "debug1: Entering interactive session.\r\nwait\n", 30) ==
        "10.77.1.3:22 was not done after 30 s while the agent was being started; it said 'wait'");
}

TEST_CASE("what ends after the login is said to be the shell, the agent, ssh or the connection") {
  const auto log = log_of(key_shown + "debug1: Entering interactive session.\r\nwords\r\n");
  const auto message = [](const Error& error) { return error.diagnostics[0].message; };
  CHECK(message(start_error(log, host_a(), {.code = 127}, "noise")) ==
        "the login shell of user me at 10.77.1.3:22 exited with status 127 before the agent was "
        "ready; it said 'words'");
  CHECK(message(start_error(log_of(connected), host_a(), {.code = 1}, "noise")) ==
        "the login shell of the user at 10.77.1.3:22 exited with status 1 before the agent was "
        "ready; it printed 'noise'");
  CHECK(message(start_error(log, host_a(), exit_255, "")) ==
        "while the agent was being started: the connection to 10.77.1.3:22 was lost; ssh said "
        "'words'");
  CHECK(message(lost_agent_error(log, host_a(), {.code = 3})) ==
        "the agent exited with status 3; it said 'words'");
  CHECK(message(lost_agent_error(log_of(connected), host_a(), {.signal = 9})) ==
        "the ssh process to 10.77.1.3:22 was killed by signal KILL");
  CHECK(message(lost_agent_error(log_of(connected), host_a(), {})) ==
        "the connection to 10.77.1.3:22 was lost");
}
