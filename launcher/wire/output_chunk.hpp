// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/wire/attempt_id.hpp"

namespace train {

/// What a rank prints, and what it appends to its metrics file. Positions count `out` and `err`
/// together, and the metrics separately.
enum class OutputStream : std::uint8_t { out = 1, err = 2, metrics = 3 };

/// A piece of what a rank printed or reported, numbered on each connection from 1 without gaps.
struct OutputChunk {
  std::uint64_t number = 0;
  int rank = 0;
  OutputStream stream = OutputStream::out;
  std::string bytes;
  Instant at{0};            ///< when its first bytes were read, on the host's clock
  std::uint64_t begin = 0;  ///< its position: bytes before it
  AttemptId of = {};
  /// Set instead of `bytes`: this many bytes were dropped here.
  std::uint64_t dropped = 0;

  bool operator==(const OutputChunk&) const = default;
};

/// How many bytes of the rank's output the chunk covers.
inline std::uint64_t length_of(const OutputChunk& chunk) {
  return chunk.bytes.size() + chunk.dropped;
}

/// Largest number of bytes in one chunk.
constexpr std::size_t max_chunk_bytes = 64u << 10;

/// The cost of a chunk against bounds of output: its bytes and an overhead, so that a rank that
/// prints byte by byte does not evade the bound.
std::size_t cost_of(const OutputChunk& chunk);

/// How the bytes of chunks are sent.
enum class OutputPacking {
  none,
  /// As LZ4 blocks if that makes them shorter: output is mostly text, and packing and unpacking
  /// takes less time than encrypting and decrypting the bytes it saves.
  lz4,
};

/// The payload of an output frame.
std::string encode_output(const OutputChunk& chunk, OutputPacking packing = OutputPacking::none);
/// Decodes both packed and unpacked output. Never produces more than `max_chunk_bytes`.
Result<OutputChunk> decode_output(std::string_view payload);

/// Limits of the output window: the bytes that one host may have sent without an acknowledgement,
/// as `cost_of` counts them. The last chunk may begin within the window and end after it.
constexpr std::size_t least_output_window = 64u << 10;
constexpr std::size_t most_output_window = 1u << 20;

}  // namespace train
