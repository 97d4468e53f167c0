// SPDX-License-Identifier: Apache-2.0
// bench_ssh_floor HOSTS KEY COMMAND: runs COMMAND on every host of the file HOSTS, one a line, as
// root with the private key KEY, over libssh2 in one poll loop, and waits for all: the least that
// starting a process on each over SSH can cost. Segments wait for no others (TCP_NODELAY) and are
// acknowledged at once (TCP_QUICKACK). Host keys are not checked. Fails when a host does.
#include <fcntl.h>
#include <libssh2.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

class Connection {
 public:
  Connection(const std::string& host, const char* key, const char* command)
      : key_(key), command_(command) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), "22", &hints, &found) != 0) return;
    fd_ = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    set(TCP_NODELAY);
    connect(fd_, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    session_ = libssh2_session_init();
    libssh2_session_set_blocking(session_, 0);
    stage_ = Stage::connect;
  }
  ~Connection() {
    if (session_) libssh2_session_free(session_);
    if (fd_ >= 0) close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_over() const { return stage_ == Stage::done || stage_ == Stage::failed; }
  bool has_failed() const { return stage_ == Stage::failed; }
  pollfd wanted() const {
    short events = POLLOUT;
    if (stage_ != Stage::connect) {
      const int directions = libssh2_session_block_directions(session_);
      events = POLLIN;
      if (directions & LIBSSH2_SESSION_BLOCK_OUTBOUND) events |= POLLOUT;
    }
    return {fd_, events, 0};
  }
  void go_on() {
    set(TCP_QUICKACK);  // the kernel forgets it
    while (!is_over() && step()) {
    }
  }

 private:
  void set(int option) {
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, option, &on, sizeof on);
  }

  enum class Stage { failed, connect, handshake, login, channel, exec, read, done };

  // Whether the next step may be taken at once.
  bool step() {
    switch (stage_) {
      case Stage::connect: {
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
        return next(error == 0 ? 0 : -1);
      }
      case Stage::handshake:
        return next(libssh2_session_handshake(session_, fd_));
      case Stage::login:
        return next(libssh2_userauth_publickey_fromfile(session_, "root", nullptr, key_, nullptr));
      case Stage::channel:
        channel_ = libssh2_channel_open_session(session_);
        return next(channel_ ? 0 : libssh2_session_last_errno(session_));
      case Stage::exec:
        return next(libssh2_channel_exec(channel_, command_));
      case Stage::read:
        return read_all();
      case Stage::done:
      case Stage::failed:
        break;
    }
    return false;
  }

  bool read_all() {
    char buffer[4096];
    const ssize_t count = libssh2_channel_read(channel_, buffer, sizeof buffer);
    if (count > 0) return true;
    if (count == 0 && libssh2_channel_eof(channel_)) return next(0);
    if (count != LIBSSH2_ERROR_EAGAIN && count != 0) stage_ = Stage::failed;
    return false;
  }

  bool next(int result) {
    if (result == LIBSSH2_ERROR_EAGAIN) return false;
    stage_ = result == 0 ? static_cast<Stage>(static_cast<int>(stage_) + 1) : Stage::failed;
    return true;
  }

  const char* key_;
  const char* command_;
  int fd_ = -1;
  LIBSSH2_SESSION* session_ = nullptr;
  LIBSSH2_CHANNEL* channel_ = nullptr;
  Stage stage_ = Stage::failed;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || libssh2_init(0) != 0) {
    std::fprintf(stderr, "usage: %s HOSTS KEY COMMAND\n", argv[0]);
    return 64;
  }
  std::vector<std::unique_ptr<Connection>> connections;
  std::ifstream hosts(argv[1]);
  for (std::string host; std::getline(hosts, host);)
    connections.push_back(std::make_unique<Connection>(host, argv[2], argv[3]));
  while (true) {
    std::vector<pollfd> wanted;
    std::vector<Connection*> waiting;
    for (const auto& connection : connections) {
      if (connection->is_over()) continue;
      wanted.push_back(connection->wanted());
      waiting.push_back(connection.get());
    }
    if (waiting.empty()) break;
    if (poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) return 1;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (wanted[i].revents != 0) waiting[i]->go_on();
  }
  int failed = 0;
  for (const auto& connection : connections) failed += connection->has_failed() ? 1 : 0;
  if (failed > 0) std::fprintf(stderr, "%d hosts failed\n", failed);
  return failed > 0 || connections.empty() ? 1 : 0;
}
