// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output_queue.hpp"

#include <random>

#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr Instant now{0};
constexpr std::uint64_t plenty = 1u << 30;

OutputQueue queue_with(std::uint64_t credit, std::size_t capacity = 1u << 20) {
  OutputQueue queue(capacity);
  REQUIRE(queue.resume({}, credit));
  return queue;
}

OutputChunk take(OutputQueue& queue) {
  const auto chunk = queue.take();
  REQUIRE(chunk);
  return *chunk;
}

std::vector<OutputChunk> take_all(OutputQueue& queue) {
  std::vector<OutputChunk> chunks;
  while (const auto chunk = queue.take()) chunks.push_back(*chunk);
  return chunks;
}

std::uint64_t cost_of_all(const std::vector<OutputChunk>& chunks) {
  std::uint64_t cost = 0;
  for (const OutputChunk& chunk : chunks) cost += cost_of(chunk);
  return cost;
}

}  // namespace

TEST_CASE("output is numbered from 1 without gaps, and each rank's from its first byte") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, "ab", now);
  queue.push({{}, 1}, OutputStream::out, "b", now);
  queue.push({{}, 1}, OutputStream::err, "c", now);
  CHECK(take_all(queue) == std::vector<OutputChunk>{{1, 0, OutputStream::out, "ab"},
                                                    {2, 1, OutputStream::out, "b"},
                                                    {3, 1, OutputStream::err, "c", now, 1}});
  CHECK(queue.acknowledge(3, plenty, 3));
  queue.push({{}, 0}, OutputStream::out, "d", now);
  CHECK(take_all(queue) == std::vector<OutputChunk>{{4, 0, OutputStream::out, "d", now, 2}});
}

TEST_CASE("metrics have positions of their own, through a new connection as well") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, "abc", now);
  queue.push({{}, 0}, OutputStream::metrics, "{}", now);
  queue.push({{}, 0}, OutputStream::err, "d", now);
  queue.push({{}, 0}, OutputStream::metrics, "1", now);
  CHECK(take_all(queue) == std::vector<OutputChunk>{{1, 0, OutputStream::out, "abc"},
                                                    {2, 0, OutputStream::metrics, "{}"},
                                                    {3, 0, OutputStream::err, "d", now, 3},
                                                    {4, 0, OutputStream::metrics, "1", now, 2}});
  CHECK_FALSE(queue.resume({{0, 4, {}, true}}, plenty));
  CHECK(queue.resume({{0, 4}, {0, 1, {}, true}}, plenty));
  CHECK(take_all(queue) == std::vector<OutputChunk>{{1, 0, OutputStream::metrics, "}", now, 1},
                                                    {2, 0, OutputStream::metrics, "1", now, 2}});
  CHECK(queue.acknowledge(2, plenty, 2));
  CHECK(queue.empty());
}

TEST_CASE("long output becomes several chunks and loses nothing") {
  std::string text;
  for (std::size_t i = 0; i < 2 * max_chunk_bytes + 1; ++i) text += static_cast<char>('a' + i % 26);
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, text, now);
  const auto chunks = take_all(queue);
  REQUIRE(chunks.size() == 3);
  CHECK(chunks[0].bytes.size() == max_chunk_bytes);
  CHECK(chunks[2].begin == 2 * max_chunk_bytes);
  CHECK(chunks[0].bytes + chunks[1].bytes + chunks[2].bytes == text);
}

TEST_CASE("small pieces that wait are put together, but never across ranks or streams") {
  OutputQueue queue = queue_with(1);
  queue.push({{}, 0}, OutputStream::out, "sent ", now);
  REQUIRE(queue.take());
  for (int i = 0; i < 1000; ++i) queue.push({{}, 0}, OutputStream::out, "x", now);
  queue.push({{}, 0}, OutputStream::err, "y", now);
  queue.push({{}, 1}, OutputStream::err, "z", now);
  CHECK(queue.acknowledge(1, plenty, 1));
  CHECK(take(queue) == OutputChunk{2, 0, OutputStream::out, std::string(1000, 'x'), now, 5});
  CHECK(queue.acknowledge(2, plenty, 2));
  CHECK(take(queue) == OutputChunk{3, 0, OutputStream::err, "y", now, 1005});
  CHECK(take(queue) == OutputChunk{4, 1, OutputStream::err, "z"});
  CHECK_FALSE(queue.empty());
  CHECK(queue.acknowledge(4, plenty, 4));
  CHECK(queue.empty());
}

TEST_CASE("pieces put together fill a chunk exactly and start the next") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, std::string(max_chunk_bytes - 1, 'a'), now);
  queue.push({{}, 0}, OutputStream::out, "bc", now);
  const auto chunks = take_all(queue);
  REQUIRE(chunks.size() == 2);
  CHECK(chunks[0].bytes.size() == max_chunk_bytes);
  CHECK(chunks[0].bytes.back() == 'b');
  CHECK(chunks[1].bytes == "c");
  CHECK(chunks[1].begin == max_chunk_bytes);
}

TEST_CASE("nothing is sent without credit, and what was given is never taken back") {
  const OutputChunk chunk{1, 0, OutputStream::out, std::string(max_chunk_bytes, 'x')};
  const std::uint64_t two = 2 * cost_of(chunk);
  OutputQueue queue = queue_with(0);
  queue.push({{}, 0}, OutputStream::out, std::string(5 * max_chunk_bytes, 'x'), now);
  CHECK(take_all(queue).empty());
  CHECK(queue.acknowledge(0, two, 0));
  CHECK(take_all(queue).size() == 2);
  CHECK(queue.acknowledge(1, two, 1));
  CHECK(take_all(queue).empty());
  CHECK(queue.acknowledge(2, two + 1, 2));  // the last may begin within it and end after it
  CHECK(take_all(queue).size() == 1);
  CHECK(queue.acknowledge(2, 0, 2));
  CHECK(queue.acknowledge(3, 4 * cost_of(chunk), 3));
  CHECK(take_all(queue).size() == 1);
}

TEST_CASE("a queue is full at its capacity until enough is acknowledged") {
  OutputQueue queue = queue_with(plenty, 2 * max_chunk_bytes);
  queue.push({{}, 0}, OutputStream::out, std::string(max_chunk_bytes, 'x'), now);
  CHECK_FALSE(queue.full());
  queue.push({{}, 0}, OutputStream::out, std::string(max_chunk_bytes, 'x'), now);
  CHECK(queue.full());
  take_all(queue);
  CHECK(queue.full());  // sent is not arrived
  CHECK(queue.acknowledge(1, plenty, 1));
  CHECK_FALSE(queue.full());
}

TEST_CASE("single bytes of alternating streams cannot evade the capacity") {
  OutputQueue queue = queue_with(0, 6400);
  int pieces = 0;
  for (; !queue.full(); ++pieces)
    queue.push({{}, 0}, pieces % 2 == 0 ? OutputStream::out : OutputStream::err, "x", now);
  CHECK(pieces <= 100);
}

TEST_CASE("acknowledging what was never sent is refused and changes nothing") {
  OutputQueue queue = queue_with(1);
  CHECK(queue.acknowledge(0, 0, 0));
  CHECK_FALSE(queue.acknowledge(1, plenty, 1));
  queue.push({{}, 0}, OutputStream::out, "a", now);
  queue.push({{}, 0}, OutputStream::err, "b", now);
  CHECK_FALSE(queue.acknowledge(1, plenty, 1));
  REQUIRE(queue.take());
  CHECK_FALSE(queue.acknowledge(2, plenty, 2));
  CHECK_FALSE(queue.acknowledge(UINT64_MAX, plenty, UINT64_MAX));
  CHECK_FALSE(queue.take());
  CHECK(queue.acknowledge(1, plenty, 1));
  CHECK(queue.acknowledge(1, plenty, 1));  // again, and earlier ones: harmless
  CHECK(queue.acknowledge(0, plenty, 0));
  CHECK(take(queue) == OutputChunk{2, 0, OutputStream::err, "b", now, 1});
}

TEST_CASE("a cleared queue is empty, and goes on numbering and counting") {
  OutputQueue queue = queue_with(plenty, 10);
  queue.push({{}, 0}, OutputStream::out, std::string(100, 'x'), now);
  REQUIRE(queue.take());
  queue.clear();
  CHECK(queue.empty());
  CHECK_FALSE(queue.full());
  CHECK_FALSE(queue.take());
  queue.push({{}, 0}, OutputStream::out, "y", now);
  CHECK(take(queue) == OutputChunk{2, 0, OutputStream::out, "y", now, 100});
}

TEST_CASE("nothing printed is no chunk") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, "", now);
  CHECK(queue.empty());
  CHECK_FALSE(queue.take());
}

TEST_CASE("a new connection gets what is missing, from the byte on that the launcher has not") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, "abcdef", now);
  REQUIRE(queue.take());
  queue.push({{}, 0}, OutputStream::err, "ghi", now);
  REQUIRE(queue.take());
  queue.push({{}, 1}, OutputStream::out, "other", now);
  const std::uint64_t position = GENERATE(range(0, 10));
  CAPTURE(position);
  REQUIRE(queue.resume({{0, position}}, plenty));
  std::string of_zero;
  std::uint64_t number = 0;
  for (const OutputChunk& chunk : take_all(queue)) {
    CHECK(chunk.number == ++number);
    CHECK(chunk.dropped == 0);
    if (chunk.rank == 0) {
      CHECK(chunk.begin == position + of_zero.size());
      of_zero += chunk.bytes;
    }
  }
  CHECK(of_zero == std::string("abcdefghi").substr(position));
  CHECK(queue.acknowledge(number, plenty, 0));
  CHECK(queue.empty());
  CHECK(queue.kept() > 0);
  CHECK(queue.acknowledge(number, plenty, number));
  CHECK(queue.kept() == 0);
}

TEST_CASE("what is written and not synced is sent again to a launcher that has lost it") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, "abc", now);
  REQUIRE(queue.take());
  CHECK(queue.acknowledge(1, plenty, 0));
  CHECK(queue.empty());
  queue.push({{}, 0}, OutputStream::out, "def", now);
  REQUIRE(queue.take());
  CHECK(queue.acknowledge(2, plenty, 1));
  REQUIRE(queue.resume({{0, 3}}, plenty));
  CHECK(take(queue) == OutputChunk{1, 0, OutputStream::out, "def", now, 3});
}

TEST_CASE("what came on an earlier connection is asked after, so that it is not kept for ever") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, "abc", now);
  queue.push({{}, 0}, OutputStream::err, "def", now);
  take_all(queue);
  REQUIRE(queue.resume({{0, 6}}, plenty));
  const auto chunks = take_all(queue);
  CHECK(chunks == std::vector<OutputChunk>{{1, 0, OutputStream::out, "", now, 6}});
  CHECK(queue.acknowledge(1, plenty, 0));
  CHECK(queue.kept() > 0);
  CHECK(queue.acknowledge(1, plenty, 1));
  CHECK(queue.kept() == 0);
  CHECK(queue.empty());
}

TEST_CASE("a launcher that wants what was synced and forgotten is told of a gap") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, "abc", now);
  REQUIRE(queue.take());
  CHECK(queue.acknowledge(1, plenty, 1));
  REQUIRE(queue.resume({{0, 1}}, plenty));
  OutputChunk gap{1, 0, OutputStream::out, "", now, 1};
  gap.dropped = 2;
  CHECK(take_all(queue) == std::vector<OutputChunk>{gap});
}

TEST_CASE("an attempt that is forgotten is gone, and others are not") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{0, 0}, 0}, OutputStream::out, "old", now);
  CHECK_FALSE(queue.empty({0, 0}));
  CHECK(queue.empty({0, 1}));
  take_all(queue);
  CHECK(queue.acknowledge(1, plenty, 0));
  CHECK(queue.empty({0, 0}));
  queue.push({{0, 1}, 0}, OutputStream::out, "new", now);
  queue.forget({0, 0});
  CHECK_FALSE(queue.empty({0, 1}));
  REQUIRE(queue.resume({}, plenty));
  CHECK(take_all(queue) ==
        std::vector<OutputChunk>{{1, 0, OutputStream::out, "new", now, 0, {0, 1}}});
  CHECK(queue.acknowledge(1, plenty, 1));
  CHECK(queue.kept() == 0);
}

TEST_CASE("a position behind all that was printed is refused and changes nothing") {
  OutputQueue queue = queue_with(plenty);
  queue.push({{}, 0}, OutputStream::out, "abc", now);
  CHECK_FALSE(queue.resume({{0, 4}}, plenty));
  CHECK_FALSE(queue.resume({{0, UINT64_MAX}}, plenty));
  CHECK_FALSE(queue.resume({{0, 3}, {1, 1}}, plenty));
  CHECK(take(queue).bytes == "abc");
}

namespace {

// A launcher's side: takes what arrives in order, writes some of it down, and acknowledges that.
struct Receiver {
  std::map<int, std::string> received;
  std::map<int, std::string> pushed;
  std::uint64_t arrived_number = 0;
  std::uint64_t arrived_cost = 0;
  std::uint64_t credit = 0;

  std::vector<message::OutputPosition> positions() const {
    std::vector<message::OutputPosition> all;
    for (const auto& [rank, bytes] : received) all.push_back({rank, bytes.size()});
    return all;
  }
  void take(const OutputChunk& chunk) {
    REQUIRE(chunk.number == arrived_number + 1);
    REQUIRE(arrived_cost < credit);  // it was allowed to begin
    REQUIRE(chunk.begin == received[chunk.rank].size());
    arrived_number = chunk.number;
    arrived_cost += cost_of(chunk);
    received[chunk.rank] += chunk.bytes;
  }
};

}  // namespace

TEST_CASE("over any cuts, credits and acknowledgements all bytes arrive once and in order") {
  const unsigned seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  OutputQueue queue(20'000);
  Receiver launcher;
  std::deque<OutputChunk> on_the_way;  // a cut loses the end of it
  const auto push = [&] {
    const int rank = static_cast<int>(below(3));
    std::string bytes(below(10) == 0 ? below(2 * max_chunk_bytes) : below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    queue.push({{}, rank}, below(2) == 0 ? OutputStream::out : OutputStream::err, bytes, now);
    launcher.pushed[rank] += bytes;
  };
  const auto arrive = [&](std::size_t count) {
    for (; count > 0 && !on_the_way.empty(); --count, on_the_way.pop_front())
      launcher.take(on_the_way.front());
  };
  const auto send = [&] {
    while (const auto chunk = queue.take()) on_the_way.push_back(*chunk);
  };
  const auto reconnect = [&](std::uint64_t credit) {
    on_the_way.clear();
    launcher.arrived_number = launcher.arrived_cost = 0;
    launcher.credit = credit;
    REQUIRE(queue.resume(launcher.positions(), credit));
    send();
  };
  for (int step = 0; step < 300; ++step) {
    const std::size_t what = below(100);
    if (what < 40 && !queue.full()) push();
    if (what < 60) send();
    if (what >= 60 && what < 75) arrive(below(5));
    if (what >= 75 && what < 92) {
      launcher.credit = std::max(launcher.credit, launcher.arrived_cost + below(30'000));
      const std::uint64_t written = below(launcher.arrived_number + 1);
      REQUIRE(queue.acknowledge(written, launcher.credit, below(written + 1)));
    }
    if (what >= 92) reconnect(below(30'000));
  }
  reconnect(plenty);
  arrive(on_the_way.size());
  CHECK((launcher.received == launcher.pushed));
  CHECK(queue.acknowledge(launcher.arrived_number, plenty, launcher.arrived_number));
  CHECK(queue.empty());
  CHECK_FALSE(queue.full());
}

TEST_CASE("what is sent costs no more than the credit and one chunk") {
  OutputQueue queue = queue_with(5'000);
  queue.push({{}, 0}, OutputStream::out, std::string(1'000'000, 'x'), now);
  CHECK(cost_of_all(take_all(queue)) <=
        5'000 + cost_of({1, 0, OutputStream::out, std::string(max_chunk_bytes, 'x')}));
}

TEST_CASE("attempts have output and positions of their own") {
  OutputQueue queue;
  const AttemptId second{0, 1};
  queue.resume({}, 1'000);
  queue.push({{}, 0}, OutputStream::out, "first", Instant(1));
  queue.push({second, 0}, OutputStream::out, "again", Instant(2));
  CHECK(queue.take()->of == AttemptId{});
  const auto chunk = queue.take();
  REQUIRE(chunk);
  CHECK(*chunk == OutputChunk{2, 0, OutputStream::out, "again", Instant(2), 0, second});
  REQUIRE(queue.resume({{0, 5, {}}, {0, 2, second}}, 1'000));
  CHECK(queue.take()->bytes == "ain");
  CHECK_FALSE(queue.take());
  CHECK_FALSE(queue.resume({{0, 6, second}}, 1'000));
  CHECK_FALSE(queue.resume({{0, 1, {1, 0}}}, 1'000));
}
