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

/// What a rank prints, and what it appends to its metrics file. Positions count the first two
/// together, and the metrics by themselves.
enum class OutputStream : std::uint8_t { out = 1, err = 2, metrics = 3 };

/// A piece of what a rank printed or reported, numbered on each connection from 1 without gaps.
struct OutputChunk {
  std::uint64_t number = 0;
  int rank = 0;
  OutputStream stream = OutputStream::out;
  std::string bytes;
  Instant at{0};            ///< when the first of them were read, on the host's clock
  std::uint64_t begin = 0;  ///< bytes before it, as positions count them
  AttemptId of = {};
  /// In place of `bytes`: so many were dropped here. Then there are none.
  std::uint64_t dropped = 0;

  bool operator==(const OutputChunk&) const = default;
};

/// How many bytes of what the rank printed the chunk stands for.
inline std::uint64_t length_of(const OutputChunk& chunk) {
  return chunk.bytes.size() + chunk.dropped;
}

/// Largest number of bytes in one chunk.
constexpr std::size_t max_chunk_bytes = 64u << 10;

/// What a chunk counts for where output is bounded: its bytes and what it takes beside them, so
/// that a rank that prints byte by byte does not evade the bound.
std::size_t cost_of(const OutputChunk& chunk);

/// How the bytes of chunks travel.
enum class OutputPacking {
  none,
  /// As LZ4 blocks where that makes them shorter: what a rank prints is mostly text, and to pack
  /// and unpack it takes less time than to encrypt and decrypt it.
  lz4,
};

/// The payload of an output frame.
std::string encode_output(const OutputChunk& chunk, OutputPacking packing = OutputPacking::none);
/// Either kind. Never makes more than `max_chunk_bytes` of what came.
Result<OutputChunk> decode_output(std::string_view payload);

/// Bytes of output that one host may have sent and not yet seen acknowledged, as `cost_of` counts
/// them. The last chunk may begin within the window and end after it.
constexpr std::size_t least_output_window = 64u << 10;
constexpr std::size_t most_output_window = 1u << 20;

}  // namespace train
