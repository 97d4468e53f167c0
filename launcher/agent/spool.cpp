// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/spool.hpp"

#include <cassert>

#include "launcher/frames/big_endian.hpp"

namespace train {

namespace {

// Layout: the number of chunks, then each chunk preceded by its length.
constexpr std::size_t count_size = 4;
constexpr std::size_t length_size = 4;

tl::unexpected<Error> not_what_was_written() {
  return fail(ErrorClass::host, "the spool has other bytes than were written");
}

}  // namespace

// The cost of the first chunk covers its bytes and the count.
std::string encode_spooled(const SpooledChunks& chunks) {
  std::size_t cost = 0;
  for (const auto& chunk : chunks) cost += cost_of(*chunk);
  std::string bytes;
  bytes.reserve(cost);
  append_big_endian(bytes, chunks.size(), count_size);
  for (const auto& chunk : chunks) {
    const std::string encoded = encode_output(*chunk);
    append_big_endian(bytes, encoded.size(), length_size);
    bytes += encoded;
  }
  assert(chunks.empty() || bytes.size() <= cost);
  return bytes;
}

Result<SpooledChunks> decode_spooled(std::string_view bytes) {
  if (bytes.size() < count_size) return not_what_was_written();
  std::uint64_t count = read_big_endian(bytes.substr(0, count_size));
  bytes.remove_prefix(count_size);
  SpooledChunks chunks;
  for (; count > 0; --count) {
    if (bytes.size() < length_size) return not_what_was_written();
    const std::uint64_t length = read_big_endian(bytes.substr(0, length_size));
    bytes.remove_prefix(length_size);
    if (length > bytes.size()) return not_what_was_written();
    auto chunk = decode_output(bytes.substr(0, length));
    if (!chunk) return not_what_was_written();
    chunks.push_back(std::make_shared<OutputChunk>(std::move(*chunk)));
    bytes.remove_prefix(length);
  }
  return chunks;
}

}  // namespace train
