// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/port_listeners.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

constexpr std::size_t table_limit = 4u << 20;
constexpr std::size_t most_descendants = 65'536;
constexpr unsigned listening_state = 0x0A;  // TCP_LISTEN

struct Line {
  unsigned state = 0;
  PortListener listener;
};

// "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 ..."
bool read_line(std::string_view text, Line& line) {
  const std::string copy(text.substr(0, 300));
  unsigned port = 0;
  unsigned uid = 0;
  char blank[2];  // the blank proves that the uid is complete: the last line may be cut anywhere
  const int count = ::sscanf(copy.c_str(),
                             " %*u: %*32[0-9A-Fa-f]:%4x %*32[0-9A-Fa-f]:%*4x %2x "
                             "%*[0-9A-Fa-f]:%*[0-9A-Fa-f] %*[0-9A-Fa-f]:%*[0-9A-Fa-f] "
                             "%*[0-9A-Fa-f] %u%1[ ]",
                             &port, &line.state, &uid, blank);
  line.listener = {static_cast<std::uint16_t>(port), uid};
  return count == 4;
}

template <class Function>
void for_each_line(std::string_view text, Function function) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    function(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool has_other_than_listeners(std::string_view text) {
  bool has = false;
  for_each_line(text, [&](std::string_view one) {
    Line line;
    has = has || (read_line(one, line) && line.state != listening_state);
  });
  return has;
}

// The part of the table that lists listeners: the kernel writes them first, and may have a million
// connections to write after them.
std::string listening_part(const char* path) {
  std::string text;
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  while (file && text.size() < table_limit) {
    char buffer[16 << 10];
    const ssize_t count = read_some(file.get(), buffer, sizeof buffer);
    if (count <= 0) break;
    const std::string_view piece(buffer, static_cast<std::size_t>(count));
    text += piece;
    if (has_other_than_listeners(piece)) break;
  }
  return text;
}

// The user ids of a process: real, effective, saved and file system.
void add_users_of(int pid, std::set<unsigned>& users) {
  const std::string status = read_small_file("/proc/" + std::to_string(pid) + "/status");
  const std::size_t place = status.find("\nUid:");
  unsigned uid[4] = {};
  if (place == status.npos || ::sscanf(status.c_str() + place, "\nUid: %u %u %u %u", &uid[0],
                                       &uid[1], &uid[2], &uid[3]) != 4)
    return;
  users.insert(std::begin(uid), std::end(uid));
}

std::set<unsigned> users_of_descendants() {
  std::set<unsigned> users;
  std::vector<int> found = children_of(::getpid());
  for (std::size_t i = 0; i < found.size() && i < most_descendants; ++i) {
    add_users_of(found[i], users);
    const auto children = children_of(found[i]);
    found.insert(found.end(), children.begin(), children.end());
  }
  return users;
}

// In a user namespace, all users that it does not map have the overflow uid.
bool is_overflow_uid(unsigned uid) {
  unsigned overflow = 65'534;
  unsigned first = 0;
  unsigned outside = 0;
  unsigned count = 0;
  (void)::sscanf(read_small_file("/proc/sys/kernel/overflowuid").c_str(), "%u", &overflow);
  const std::string map = read_small_file("/proc/self/uid_map");
  const bool is_first_namespace =
      ::sscanf(map.c_str(), "%u %u %u", &first, &outside, &count) == 3 && first == 0 &&
      outside == 0 && count == ~0u;
  return uid == overflow && !is_first_namespace;
}

}  // namespace

std::vector<PortListener> listeners_in(std::string_view table) {
  std::vector<PortListener> found;
  for_each_line(table, [&](std::string_view text) {
    Line line;
    if (read_line(text, line) && line.state == listening_state) found.push_back(line.listener);
  });
  return found;
}

std::vector<PortListener> listeners() {
  std::vector<PortListener> found;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const auto more = listeners_in(listening_part(path));
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

ListenerOwner owner_of_listener(const PortListener& listener) {
  if (listener.uid == ::geteuid()) return ListenerOwner::ours;
  if (listener.uid == 0 || is_overflow_uid(listener.uid)) return ListenerOwner::unknown;
  // Ranks may run as other users (sudo, su, the users of a container).
  return users_of_descendants().contains(listener.uid) ? ListenerOwner::ours : ListenerOwner::other;
}

}  // namespace train
