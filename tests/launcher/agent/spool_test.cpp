// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/spool.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

SpooledChunks some_chunks() {
  SpooledChunks chunks;
  OutputChunk gap{1, 3, OutputStream::err, "", Instant(7), 5, {2, 1}};
  gap.dropped = 1'000;
  for (const OutputChunk& chunk :
       {OutputChunk{1, 0, OutputStream::out, "one"}, gap,
        OutputChunk{1, 1, OutputStream::err, std::string(max_chunk_bytes, 'x'), Instant(9), 1}})
    chunks.push_back(std::make_shared<OutputChunk>(chunk));
  return chunks;
}

}  // namespace

TEST_CASE("what was put into the spool comes out of it, whatever follows it there") {
  const SpooledChunks chunks = some_chunks();
  const auto again = decode_spooled(encode_spooled(chunks) + std::string(100, '\xff'));
  REQUIRE(again);
  REQUIRE(again->size() == chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) CHECK(*(*again)[i] == *chunks[i]);
  CHECK(decode_spooled(encode_spooled({}))->empty());
}

TEST_CASE("chunks take no more room in the spool than they cost") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, max_chunk_bytes}) {
    const OutputChunk chunk{1, 0, OutputStream::out, std::string(size, 'x')};
    CHECK(encode_spooled({std::make_shared<OutputChunk>(chunk)}).size() <= cost_of(chunk));
  }
}

TEST_CASE("a spool that has other bytes than were written is noticed") {
  const std::string bytes = encode_spooled(some_chunks());
  for (std::size_t size = 0; size < bytes.size(); size += 13)
    CHECK_FALSE(decode_spooled(bytes.substr(0, size)));
  CHECK_FALSE(decode_spooled(std::string(bytes.size(), '\xff')));
}
