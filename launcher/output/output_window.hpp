// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "launcher/wire/output_chunk.hpp"

namespace train {

/// The window of each of so many hosts: 64 MiB for all of them together, within the limits above.
std::size_t output_window(std::size_t hosts);

/// The launcher's side of the window of one host.
class OutputWindow {
 public:
  explicit OutputWindow(std::size_t size) : size_(size) {}

  /// Takes a chunk that has arrived; false when the host was not allowed to send it.
  bool take(const OutputChunk& chunk);
  /// Chunks that were taken, and cost so much together, have been acknowledged.
  void acknowledge(std::size_t cost) { in_flight_ -= cost; }

 private:
  std::size_t size_;
  std::size_t in_flight_ = 0;
};

}  // namespace train
