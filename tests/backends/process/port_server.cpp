// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/process/port_server.hpp"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace train::testing {

Descriptor listen_on(int family, std::uint16_t port, Reuse reuse) {
  Descriptor server(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = reuse == Reuse::yes ? 1 : 0;
  ::setsockopt(server.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(port);  // the same place in both
  const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::bind(server.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(server.get(), 1) != 0)
    return Descriptor();
  return server;
}

OtherUser::OtherUser(int family, std::uint16_t port) {
  auto said = make_pipe();
  if (!said) return;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    Descriptor server;
    if (::setgid(uid) == 0 && ::setuid(uid) == 0) server = listen_on(family, port, Reuse::yes);
    const char answer = server ? 'y' : 'n';
    if (::write(said->write_end.get(), &answer, 1) == 1) ::pause();
    ::_exit(1);
  }
  said->write_end.reset();
  char answer = 0;
  listens_ = ::read(said->read_end.get(), &answer, 1) == 1 && answer == 'y';
}

OtherUser::~OtherUser() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace train::testing
