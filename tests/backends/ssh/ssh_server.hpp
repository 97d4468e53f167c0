// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/backends/ssh_formats/temporary_keys.hpp"
#include "tests/support/waiting.hpp"

namespace train::testing {

inline std::string current_user() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry ? entry->pw_name : "";
}

/// A loopback port that nobody else gets as long as this lives. It refuses connections, until a
/// server that reuses addresses, as sshd does, listens there.
class HeldPort {
 public:
  HeldPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int on = 1;
    if (::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no free port");
    number_ = ntohs(address.sin_port);
  }
  ~HeldPort() { ::close(fd_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  int number() const { return number_; }

 private:
  int fd_;
  int number_ = 0;
};

/// A real sshd on a loopback port, for the current user, with keys, configuration and a home of
/// its own in a temporary folder.
class SshServer {
 public:
  static bool is_installed() { return ::access("/usr/sbin/sshd", X_OK) == 0; }

  /// `options` are further lines of sshd_config.
  explicit SshServer(const std::string& options = "") {
    const auto& root = folder_.path();
    for (const auto& name : {home(), launcher_home() / ".ssh"})
      std::filesystem::create_directories(name);
    make_key(root / "host_key", "-t ed25519");
    make_key(launcher_home() / ".ssh/id_ed25519", "-t ed25519");
    authorize(launcher_home() / ".ssh/id_ed25519");
    trust(public_line((root / "host_key").string()));
    write_file(root / "config", "Port " + std::to_string(port()) +
                                    "\nListenAddress 127.0.0.1\nPidFile none\nUsePAM no\n"
                                    "StrictModes no\nPermitRootLogin yes\nLogLevel VERBOSE\n"
                                    "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                                    "HostKey " +
                                    (root / "host_key").string() + "\nAuthorizedKeysFile " +
                                    authorized_keys().string() +
                                    "\nSetEnv HOME=" + home().string() + "\n" + options);
    if (::getuid() == 0) ::mkdir("/run/sshd", 0755);
    start();
  }
  ~SshServer() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  SshServer(const SshServer&) = delete;
  SshServer& operator=(const SshServer&) = delete;

  int port() const { return port_.number(); }
  /// Of the process whose children serve the connections.
  pid_t pid() const { return pid_; }
  std::filesystem::path home() const { return folder_.path() / "home"; }
  std::filesystem::path launcher_home() const { return folder_.path() / "launcher"; }
  std::filesystem::path known_hosts() const { return launcher_home() / ".ssh/known_hosts"; }
  std::string host_key() const { return (folder_.path() / "host_key").string(); }
  std::filesystem::path authorized_keys() const { return folder_.path() / "authorized_keys"; }
  std::string log() const { return read_file(folder_.path() / "log"); }

  void authorize(const std::filesystem::path& key) const {
    write_file(authorized_keys(), read_file(authorized_keys()) + public_line(key.string()) + "\n");
  }
  /// Makes known_hosts say that this public key is the server's.
  void trust(const std::string& public_key_line) const {
    write_file(known_hosts(),
               "# keys\n[127.0.0.1]:" + std::to_string(port()) + " " + public_key_line + "\n");
  }

 private:
  void start() {
    const std::string config = (folder_.path() / "config").string();
    const std::string log_file = (folder_.path() / "log").string();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      ::execl("/usr/sbin/sshd", "/usr/sbin/sshd", "-D", "-E", log_file.c_str(), "-f",
              config.c_str(), nullptr);
      ::_exit(127);
    }
    if (!eventually([&] { return log().find("Server listening") != std::string::npos; }))
      throw std::runtime_error("sshd does not listen: " + log());
  }

  TemporaryFolder folder_;
  HeldPort port_;
  pid_t pid_ = -1;
};

}  // namespace train::testing
