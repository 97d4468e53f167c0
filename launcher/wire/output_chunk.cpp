// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/output_chunk.hpp"

#include "launcher/wire/big_endian.hpp"
#include "launcher/wire/frame.hpp"

namespace train {

namespace {

constexpr std::size_t output_header_size = 8 + 4 + 1;

tl::unexpected<Error> malformed(std::string_view what) {
  return tl::make_unexpected(not_our_protocol("sent " + std::string(what)));
}

}  // namespace

std::size_t cost_of(const OutputChunk& chunk) {
  constexpr std::size_t overhead = 64;
  return chunk.bytes.size() + overhead;
}

std::string encode_output(const OutputChunk& chunk) {
  std::string payload;
  payload.reserve(output_header_size + chunk.bytes.size());
  append_big_endian(payload, chunk.number, 8);
  append_big_endian(payload, static_cast<std::uint32_t>(chunk.rank), 4);
  payload += static_cast<char>(chunk.stream);
  payload += chunk.bytes;
  return payload;
}

Result<OutputChunk> decode_output(std::string_view payload) {
  if (payload.size() < output_header_size) return malformed("output without a header");
  OutputChunk chunk;
  chunk.number = read_big_endian(payload.substr(0, 8));
  const std::uint64_t rank = read_big_endian(payload.substr(8, 4));
  const auto stream = static_cast<std::uint8_t>(payload[12]);
  if (chunk.number == 0) return malformed("output without a number");
  if (payload.size() - output_header_size > max_chunk_bytes)
    return malformed("more output than a chunk may hold");
  if (rank > INT32_MAX) return malformed("output of an impossible rank");
  if (stream != 1 && stream != 2) return malformed("output of an unknown stream");
  chunk.rank = static_cast<int>(rank);
  chunk.stream = static_cast<OutputStream>(stream);
  chunk.bytes = payload.substr(output_header_size);
  return chunk;
}

}  // namespace train
