// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// A TCP port of this host that is ours on all addresses, IPv4 and IPv6: bound, but not listening.
/// Until it is shared no other process can bind it. After that the kernel still does not hand it
/// out as an ephemeral port, but any server that sets SO_REUSEADDR can listen on it, as rendezvous
/// servers do; the kernel requires nothing else, so a server of another user can listen on it as
/// well, and may be first. `PortWatch` detects that afterwards; nothing here prevents it.
///
/// Checked with Linux 6.18 and torch 1.13: its TCPStore (the server behind `env://`) starts and
/// serves on the port both while it is shared and after the release, so the hold may be kept until
/// the task ends; so do servers of gRPC 1.51, on which TensorFlow's and JAX's are built, on 0.0.0.0
/// and on [::]. A server that does not set the option needs the release before it starts.
class PortHold {
 public:
  /// Takes a free port, outside of the range of ephemeral ports where there is one free, so that no
  /// outgoing connection takes it after the release either. Class `host` when there is none.
  static Result<PortHold> take();
  /// Takes `count` different ports, or none.
  static Result<std::vector<PortHold>> take(int count);

  /// Lets servers that set SO_REUSEADDR listen on the port. Not to be called before those of the
  /// task are about to start.
  void share();

  std::uint16_t port() const { return port_; }

 private:
  PortHold(std::uint16_t port, std::vector<Descriptor> sockets)
      : port_(port), sockets_(std::move(sockets)) {}

  std::uint16_t port_;
  std::vector<Descriptor> sockets_;
};

}  // namespace train
