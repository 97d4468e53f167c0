// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "launcher/wire/output_chunk.hpp"

namespace train {

/// The window of each of `hosts` hosts, in bytes: 64 MiB for all of them together, but at least
/// `least_output_window` and at most `most_output_window` each.
std::size_t output_window(std::size_t hosts);

/// The launcher's side of the window of one host: how much output the host may send before it is
/// acknowledged.
class OutputWindow {
 public:
  explicit OutputWindow(std::size_t size) : size_(size) {}

  /// Takes a chunk that has arrived; false if the host was not allowed to send it.
  bool take(const OutputChunk& chunk);
  /// How much of the window is left.
  std::size_t room() const { return size_ - std::min(size_, in_flight_); }
  /// Taken chunks of this total cost were acknowledged: the host may send as much again.
  void acknowledge(std::size_t cost) { in_flight_ -= cost; }

 private:
  std::size_t size_;
  std::size_t in_flight_ = 0;
};

}  // namespace train
