// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "backends/posix/descriptor.hpp"

namespace train::testing {

enum class Reuse { no, yes };

/// A server that listens on this port of the wildcard address of AF_INET or AF_INET6; none when it
/// cannot.
Descriptor listen_on(int family, std::uint16_t port, Reuse reuse);

/// A process of another account that tries to listen on a port, with SO_REUSEADDR, and stays there
/// until this object goes. Root only. It is no descendant of the process under test where that was
/// forked before.
class OtherUser {
 public:
  static constexpr unsigned uid = 12'345;

  OtherUser(int family, std::uint16_t port);
  ~OtherUser();
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

  bool listens() const { return listens_; }

 private:
  int pid_ = -1;
  bool listens_ = false;
};

}  // namespace train::testing
