// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "launcher/wire/output_chunk.hpp"

namespace train {

/// The window of each of so many hosts, in bytes: 64 MiB for all of them together, but for each at
/// least `least_output_window` and at most `most_output_window`.
std::size_t output_window(std::size_t hosts);

/// The launcher's side of the window of one host: how much output the host may send before it is
/// acknowledged.
class OutputWindow {
 public:
  explicit OutputWindow(std::size_t size) : size_(size) {}

  /// Takes a chunk that has arrived; false when the host was not allowed to send it.
  bool take(const OutputChunk& chunk);
  /// How much of it is left.
  std::size_t room() const { return size_ - std::min(size_, in_flight_); }
  /// Chunks that were taken and cost this much together were acknowledged: as much may be sent
  /// again.
  void acknowledge(std::size_t cost) { in_flight_ -= cost; }

 private:
  std::size_t size_;
  std::size_t in_flight_ = 0;
};

}  // namespace train
