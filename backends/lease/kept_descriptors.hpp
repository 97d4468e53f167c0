// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// Both ends of a socket pair that keeps packets apart (SOCK_SEQPACKET); -1: there is none.
struct KeepingSocket {
  int end = -1;      ///< what is sent here is kept
  int keepers = -1;  ///< for as long as any process has this one open: the keeper does, and is idle
};

/// Copies of descriptors that outlive this process: they are in a socket of which another process
/// has an end, and nobody reads them. Only some hundred packets have room there, so what is not
/// wanted any more is taken out again.
class KeptDescriptors {
 public:
  explicit KeptDescriptors(KeepingSocket socket) : socket_(socket) {}

  explicit operator bool() const { return socket_.end >= 0; }
  /// Keeps these as well. Class `host`.
  Result<void> add(const std::vector<int>& descriptors);
  /// Whether so many packets are there that `replace` is worth its while.
  bool is_filling() const { return packets_ >= 32; }
  /// Keeps these, and no others; at no time less than these. Where they have no room beside the
  /// others, all stay. Class `host`.
  Result<void> replace(const std::vector<int>& descriptors);

 private:
  void take_out(int packets);

  const KeepingSocket socket_;
  int packets_ = 0;
};

}  // namespace train
