// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/output_chunk.hpp"

#include <lz4.h>

#include <algorithm>

#include "launcher/frames/big_endian.hpp"
#include "launcher/frames/frame.hpp"

namespace train {

namespace {

// Number, trial, attempt, rank, begin, stream, unpacked size (0 if not packed), time, and number of
// dropped bytes.
constexpr std::size_t output_header_size = 8 + 4 + 4 + 4 + 8 + 1 + 4 + 8 + 8;
// Total output of a rank: more than any disk holds, and far below an overflow of sums.
constexpr std::uint64_t most_output = std::uint64_t{1} << 62;
// 146 years: sums with such times do not overflow.
constexpr std::uint64_t latest_time = std::uint64_t{1} << 62;
// Packing less is not worthwhile.
constexpr std::size_t least_packed_bytes = 512;
// For LZ4: takes an eighth less time for training logs than the default, and a tenth more bytes.
constexpr int acceleration = 4;

tl::unexpected<Error> malformed_output(std::string_view what) {
  return tl::make_unexpected(not_our_protocol("sent " + std::string(what)));
}

// False, with nothing appended, if the bytes do not become shorter.
bool append_packed(std::string& payload, std::string_view bytes) {
  const std::size_t begin = payload.size();
  payload.resize(begin + bytes.size());
  const int size =
      LZ4_compress_fast(bytes.data(), payload.data() + begin, static_cast<int>(bytes.size()),
                        static_cast<int>(bytes.size() - 1), acceleration);
  payload.resize(begin + static_cast<std::size_t>(size));
  return size > 0;
}

// False if the packed bytes do not unpack to exactly `size` bytes.
bool unpack(std::string_view packed, std::size_t size, std::string& bytes) {
  bytes.resize(size);
  const int unpacked = LZ4_decompress_safe(packed.data(), bytes.data(),
                                           static_cast<int>(packed.size()), static_cast<int>(size));
  return unpacked == static_cast<int>(size);
}

}  // namespace

std::size_t cost_of(const OutputChunk& chunk) {
  constexpr std::size_t overhead = 64;
  return chunk.bytes.size() + overhead;
}

namespace {

std::string header_of(const OutputChunk& chunk, std::size_t unpacked_size) {
  std::string header;
  header.reserve(output_header_size + chunk.bytes.size());
  append_big_endian(header, chunk.number, 8);
  for (const int number : {chunk.of.trial, chunk.of.attempt, chunk.rank})
    append_big_endian(header, static_cast<std::uint32_t>(number), 4);
  append_big_endian(header, chunk.begin, 8);
  header += static_cast<char>(chunk.stream);
  append_big_endian(header, unpacked_size, 4);
  append_big_endian(header, static_cast<std::uint64_t>(chunk.at.count()), 8);
  append_big_endian(header, chunk.dropped, 8);
  return header;
}

}  // namespace

std::string encode_output(const OutputChunk& chunk, OutputPacking packing) {
  const std::size_t size = chunk.bytes.size();
  if (packing == OutputPacking::lz4 && size >= least_packed_bytes) {
    std::string payload = header_of(chunk, size);
    if (append_packed(payload, chunk.bytes)) return payload;
  }
  return header_of(chunk, 0) + chunk.bytes;
}

Result<OutputChunk> decode_output(std::string_view payload) {
  if (payload.size() < output_header_size) return malformed_output("output without a header");
  std::string_view rest = payload;
  const auto next = [&rest](std::size_t size) {
    const std::uint64_t number = read_big_endian(rest.substr(0, size));
    rest.remove_prefix(size);
    return number;
  };
  OutputChunk chunk;
  chunk.number = next(8);
  const std::uint64_t trial = next(4);
  const std::uint64_t attempt = next(4);
  const std::uint64_t rank = next(4);
  chunk.begin = next(8);
  const std::uint64_t stream = next(1);
  const std::size_t unpacked_size = next(4);
  const std::uint64_t at = next(8);
  chunk.dropped = next(8);
  const std::string_view bytes = rest;
  if (chunk.number == 0) return malformed_output("output without a number");
  if (std::max(bytes.size(), unpacked_size) > max_chunk_bytes)
    return malformed_output("more output than a chunk may hold");
  if (chunk.begin >= most_output) return malformed_output("output at an impossible position");
  if (std::max({trial, attempt, rank}) > INT32_MAX)
    return malformed_output("output of an impossible rank");
  const bool is_gap = chunk.dropped > 0;
  if (chunk.dropped >= most_output || (is_gap && !bytes.empty()))
    return malformed_output("output that was dropped and is there");
  if (stream < 1 || stream > 3) return malformed_output("output of an unknown stream");
  if (at >= latest_time) return malformed_output("output of an impossible time");
  chunk.rank = static_cast<int>(rank);
  chunk.of = {static_cast<int>(trial), static_cast<int>(attempt)};
  chunk.at = Instant(static_cast<std::int64_t>(at));
  chunk.stream = static_cast<OutputStream>(stream);
  if (unpacked_size == 0)
    chunk.bytes = bytes;
  else if (!unpack(bytes, unpacked_size, chunk.bytes))
    return malformed_output("packed output that cannot be unpacked");
  return chunk;
}

}  // namespace train
