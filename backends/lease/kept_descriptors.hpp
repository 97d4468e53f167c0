// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// Both ends of a SOCK_SEQPACKET socket pair; -1: there is none.
struct KeepingSocket {
  int end = -1;      ///< descriptors sent here are kept
  int keepers = -1;  ///< they are kept while any process, such as the guard, has this end open
};

/// Copies of descriptors that outlive this process: they stay unread in a socket of which another
/// process has an end. It has room for some hundred packets only, so descriptors that are no longer
/// needed are taken out again.
class KeptDescriptors {
 public:
  explicit KeptDescriptors(KeepingSocket socket) : socket_(socket) {}

  explicit operator bool() const { return socket_.end >= 0; }
  /// Keeps these as well. Class `host`.
  Result<void> add(const std::vector<int>& descriptors);
  /// Whether there are so many packets that `replace` is worthwhile.
  bool is_filling() const { return packets_ >= 32; }
  /// Keeps these descriptors and no others; during the call none of these is missing. If there is
  /// no room for them beside the old ones, the old ones stay. Class `host`.
  Result<void> replace(const std::vector<int>& descriptors);

 private:
  void take_out(int packets);

  const KeepingSocket socket_;
  int packets_ = 0;
};

}  // namespace train
