// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output_queue.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr Instant now{0};

}  // namespace

namespace {

std::vector<OutputChunk> take_all(OutputQueue& queue) {
  std::vector<OutputChunk> chunks;
  while (auto chunk = queue.take()) chunks.push_back(std::move(*chunk));
  return chunks;
}

}  // namespace

TEST_CASE("output is numbered from 1 without gaps") {
  OutputQueue queue;
  queue.push(0, OutputStream::out, "a", now);
  queue.push(1, OutputStream::out, "b", now);
  queue.push(1, OutputStream::err, "c", now);
  CHECK(take_all(queue) == std::vector<OutputChunk>{{1, 0, OutputStream::out, "a"},
                                                    {2, 1, OutputStream::out, "b"},
                                                    {3, 1, OutputStream::err, "c"}});
  CHECK(queue.acknowledge(3));
  queue.push(0, OutputStream::out, "d", now);
  CHECK(take_all(queue) == std::vector<OutputChunk>{{4, 0, OutputStream::out, "d"}});
}

TEST_CASE("long output becomes several chunks and loses nothing") {
  std::string text;
  for (std::size_t i = 0; i < 2 * max_chunk_bytes + 1; ++i) text += static_cast<char>('a' + i % 26);
  OutputQueue queue;
  queue.push(0, OutputStream::out, text, now);
  const auto chunks = take_all(queue);
  REQUIRE(chunks.size() == 3);
  CHECK(chunks[0].bytes.size() == max_chunk_bytes);
  CHECK(chunks[0].bytes + chunks[1].bytes + chunks[2].bytes == text);
}

TEST_CASE("small pieces that wait are put together, but never across ranks or streams") {
  OutputQueue queue({.capacity = 1 << 20, .window = 1});
  queue.push(0, OutputStream::out, "sent ", now);
  REQUIRE(queue.take());
  for (int i = 0; i < 1000; ++i) queue.push(0, OutputStream::out, "x", now);
  queue.push(0, OutputStream::err, "y", now);
  queue.push(1, OutputStream::err, "z", now);
  CHECK(queue.acknowledge(1));
  CHECK(queue.take() == OutputChunk{2, 0, OutputStream::out, std::string(1000, 'x')});
  CHECK(queue.acknowledge(2));
  CHECK(queue.take() == OutputChunk{3, 0, OutputStream::err, "y"});
  CHECK(queue.acknowledge(3));
  CHECK(queue.take() == OutputChunk{4, 1, OutputStream::err, "z"});
  CHECK_FALSE(queue.empty());
  CHECK(queue.acknowledge(4));
  CHECK(queue.empty());
}

TEST_CASE("pieces put together fill a chunk exactly and start the next") {
  OutputQueue queue;
  queue.push(0, OutputStream::out, std::string(max_chunk_bytes - 1, 'a'), now);
  queue.push(0, OutputStream::out, "bc", now);
  const auto chunks = take_all(queue);
  REQUIRE(chunks.size() == 2);
  CHECK(chunks[0].bytes.size() == max_chunk_bytes);
  CHECK(chunks[0].bytes.back() == 'b');
  CHECK(chunks[1].bytes == "c");
}

TEST_CASE("no more than the window is sent before it is acknowledged") {
  OutputQueue queue({.capacity = 1 << 20, .window = 2 * max_chunk_bytes});
  queue.push(0, OutputStream::out, std::string(5 * max_chunk_bytes, 'x'), now);
  CHECK(take_all(queue).size() == 2);
  CHECK_FALSE(queue.take());
  CHECK(queue.acknowledge(1));
  CHECK(take_all(queue).size() == 1);
  CHECK(queue.acknowledge(3));
  CHECK(take_all(queue).size() == 2);
}

TEST_CASE("a queue is full at its capacity until enough is acknowledged") {
  OutputQueue queue({.capacity = 2 * max_chunk_bytes, .window = 8 * max_chunk_bytes});
  queue.push(0, OutputStream::out, std::string(max_chunk_bytes, 'x'), now);
  CHECK_FALSE(queue.full());
  queue.push(0, OutputStream::out, std::string(max_chunk_bytes, 'x'), now);
  CHECK(queue.full());
  take_all(queue);
  CHECK(queue.full());  // sent is not arrived
  CHECK(queue.acknowledge(1));
  CHECK_FALSE(queue.full());
}

TEST_CASE("single bytes of alternating streams cannot evade the capacity") {
  OutputQueue queue({.capacity = 6400, .window = 0});
  int pieces = 0;
  for (; !queue.full(); ++pieces)
    queue.push(0, pieces % 2 == 0 ? OutputStream::out : OutputStream::err, "x", now);
  CHECK(pieces <= 100);
}

TEST_CASE("acknowledging what was never sent is refused and changes nothing") {
  OutputQueue queue({.capacity = 1 << 20, .window = 1});
  CHECK(queue.acknowledge(0));
  CHECK_FALSE(queue.acknowledge(1));
  queue.push(0, OutputStream::out, "a", now);
  queue.push(0, OutputStream::err, "b", now);
  CHECK_FALSE(queue.acknowledge(1));
  REQUIRE(queue.take());
  CHECK_FALSE(queue.acknowledge(2));
  CHECK_FALSE(queue.acknowledge(UINT64_MAX));
  CHECK(queue.acknowledge(1));
  CHECK(queue.acknowledge(1));  // again, and earlier ones: harmless
  CHECK(queue.acknowledge(0));
  CHECK(queue.take() == OutputChunk{2, 0, OutputStream::err, "b"});
}

TEST_CASE("a cleared queue is empty and goes on numbering") {
  OutputQueue queue({.capacity = 10, .window = 1});
  queue.push(0, OutputStream::out, std::string(100, 'x'), now);
  REQUIRE(queue.take());
  queue.clear();
  CHECK(queue.empty());
  CHECK_FALSE(queue.full());
  CHECK_FALSE(queue.take());
  queue.push(0, OutputStream::out, "y", now);
  CHECK(queue.take() == OutputChunk{2, 0, OutputStream::out, "y"});
}

TEST_CASE("nothing printed is no chunk") {
  OutputQueue queue;
  queue.push(0, OutputStream::out, "", now);
  CHECK(queue.empty());
  CHECK_FALSE(queue.take());
}
