// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/kept_descriptors.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr std::size_t most_at_once = 200;  // the kernel takes 253

struct Packet {
  char byte = 0;
  iovec bytes{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(most_at_once * sizeof(int))] = {};
  msghdr message{};

  explicit Packet(std::size_t descriptors = most_at_once) {
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
  }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;
};

void close_all_in(Packet& packet) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&packet.message); header != nullptr;
       header = CMSG_NXTHDR(&packet.message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      ::close(descriptor);
    }
  }
}

}  // namespace

Result<void> KeptDescriptors::add(const std::vector<int>& descriptors) {
  for (std::size_t begin = 0; begin < descriptors.size(); begin += most_at_once) {
    const std::size_t count = std::min(most_at_once, descriptors.size() - begin);
    Packet packet(count);
    cmsghdr* header = CMSG_FIRSTHDR(&packet.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data() + begin, count * sizeof(int));
    const auto sent = uninterrupted(
        [&] { return ::sendmsg(socket_.end, &packet.message, MSG_DONTWAIT | MSG_NOSIGNAL); });
    if (sent < 0)
      return fail(ErrorClass::host, fmt::format("the guard of the agent cannot hold its slots: {}",
                                                system_reason(errno)));
    ++packets_;
  }
  return {};
}

// Adds the new set before removing the old one, so that no descriptor is ever missing.
Result<void> KeptDescriptors::replace(const std::vector<int>& descriptors) {
  const int before = packets_;
  if (auto added = add(descriptors); !added) return added;
  take_out(before);
  return {};
}

void KeptDescriptors::take_out(int packets) {
  for (; packets > 0; --packets) {
    Packet packet;
    const auto received = uninterrupted([&] {
      return ::recvmsg(socket_.keepers, &packet.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    });
    if (received <= 0) return;
    --packets_;
    close_all_in(packet);
  }
}

}  // namespace train
