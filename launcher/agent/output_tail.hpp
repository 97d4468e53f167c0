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

/// The newest output of a rank while its output is dropped: the last lines may say why the rank
/// ends. Each stream is kept separately, so that a flood on one does not push out the other.
class OutputTail {
 public:
  /// At least this many bytes of each stream are kept, and at most twice as many.
  static constexpr std::size_t least_kept = 4u << 10;
  /// Limit of pieces per stream: of a stream that comes in very small pieces, fewer bytes are kept.
  static constexpr std::size_t most_pieces = 256;

  struct Piece {
    OutputStream stream = OutputStream::out;
    std::uint64_t begin = 0;  ///< position, as in OutputChunk
    std::string bytes;
    Instant at{0};
  };

  void add(OutputStream stream, std::string_view bytes, std::uint64_t begin, Instant at);
  /// Returns what is kept, by position, and empties the tail.
  std::vector<Piece> take();

 private:
  struct Stream {
    std::deque<Piece> pieces;
    std::size_t bytes = 0;
  };
  std::array<Stream, 2> streams_;
};

}  // namespace train
