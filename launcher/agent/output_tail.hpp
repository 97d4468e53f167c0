// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/wire/output_chunk.hpp"

namespace train {

/// The newest of what a rank printed while its output is dropped: whatever it says last may be why
/// it ends. Each stream by itself, so that a flood on one does not wash away the other.
class OutputTail {
 public:
  /// Bytes of each stream that are kept at least, and at most twice as many.
  static constexpr std::size_t least_kept = 4u << 10;
  /// Of a stream that came in smaller and smaller pieces, fewer bytes are kept.
  static constexpr std::size_t most_pieces = 256;

  struct Piece {
    OutputStream stream = OutputStream::out;
    std::uint64_t begin = 0;  ///< position, as in OutputChunk
    std::string bytes;
    Instant at{0};
  };

  void add(OutputStream stream, std::string_view bytes, std::uint64_t begin, Instant at);
  /// What is kept, by position; there is nothing afterwards.
  std::vector<Piece> take();

 private:
  struct Stream {
    std::deque<Piece> pieces;
    std::size_t bytes = 0;
  };
  std::array<Stream, 2> streams_;
};

}  // namespace train
