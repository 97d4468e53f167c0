// SPDX-License-Identifier: Apache-2.0
#include "backends/control/control_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace train {

namespace {

constexpr int most_pending = 16;

// A short name of a file, through its open folder.
struct ShortPath {
  Descriptor folder;
  std::string name;
  sockaddr_un address{};
};

Result<ShortPath> shorten(const std::string& path) {
  ShortPath made;
  const auto slash = path.rfind('/');
  made.name = path.substr(slash + 1);
  made.folder = Descriptor(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!made.folder)
    return fail(ErrorClass::no_input,
                fmt::format("cannot reach '{}': {}", path, system_reason(errno)));
  const std::string text = fmt::format("/proc/self/fd/{}/{}", made.folder.get(), made.name);
  if (text.size() >= sizeof made.address.sun_path)
    return fail(ErrorClass::no_input, fmt::format("the name of the socket '{}' is too long", path));
  made.address.sun_family = AF_UNIX;
  std::memcpy(made.address.sun_path, text.c_str(), text.size() + 1);
  return made;
}

Descriptor new_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

const sockaddr* generic(const ShortPath& path) {
  return reinterpret_cast<const sockaddr*>(&path.address);
}

}  // namespace

// Connections are accepted only from `listen` on, when the mode is set.
Result<Descriptor> listen_at(const std::string& path) {
  const auto place = shorten(path);
  if (!place) return tl::make_unexpected(place.error());
  Descriptor socket = new_socket();
  const bool is_made =
      socket && (::unlinkat(place->folder.get(), place->name.c_str(), 0) == 0 || errno == ENOENT) &&
      ::bind(socket.get(), generic(*place), sizeof place->address) == 0 &&
      ::fchmodat(place->folder.get(), place->name.c_str(), 0600, 0) == 0 &&
      ::listen(socket.get(), most_pending) == 0;
  if (is_made) return socket;
  return fail(ErrorClass::no_input,
              fmt::format("cannot make the socket '{}': {}", path, system_reason(errno)));
}

Result<Descriptor> connect_to(const std::string& path) {
  const auto place = shorten(path);
  if (!place) return tl::make_unexpected(place.error());
  Descriptor socket = new_socket();
  if (socket && uninterrupted([&] {
                  return ::connect(socket.get(), generic(*place), sizeof place->address);
                }) == 0)
    return socket;
  if (socket && (errno == ENOENT || errno == ECONNREFUSED)) return Descriptor();
  return fail(ErrorClass::no_input,
              fmt::format("cannot reach the socket '{}': {}", path, system_reason(errno)));
}

bool is_of_this_user(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

}  // namespace train
