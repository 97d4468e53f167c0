// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/output_window.hpp"

#include <utility>
#include <vector>

#include "launcher/agent/output_queue.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr Instant now{0};

}  // namespace

TEST_CASE("all hosts together may have 64 MiB of output on the way, as far as that goes") {
  CHECK(output_window(1) == most_output_window);
  CHECK(output_window(64) == 1u << 20);
  CHECK(output_window(128) == 512u << 10);
  CHECK(output_window(1'000) == (64u << 20) / 1'000);
  CHECK(output_window(100'000) == least_output_window);
}

TEST_CASE("an agent that waits for acknowledgements stays within the window, byte by byte too") {
  const std::string bytes(GENERATE(as<std::size_t>{}, 1, 100, 60'000, max_chunk_bytes), 'x');
  CAPTURE(bytes.size());
  OutputQueue queue;
  OutputWindow window(least_output_window);
  for (int i = 0; i < 10'000 && !queue.full(); ++i)
    queue.push({{}, i % 2}, OutputStream::out, bytes, now);
  std::vector<message::OutputPosition> positions{{0, 0}, {1, 0}};
  std::uint64_t last = 0;
  std::size_t received = 0;  // on this connection, as are the numbers
  std::size_t unwritten = 0;
  for (int turn = 0; !queue.empty(); ++turn) {
    while (const auto chunk = queue.take()) {
      REQUIRE(window.take(*chunk));
      last = chunk->number;
      received += cost_of(*chunk);
      unwritten += cost_of(*chunk);
      positions[static_cast<std::size_t>(chunk->rank)].position += chunk->bytes.size();
    }
    if (turn % 3 == 2) {  // the connection breaks, with the window full
      received = last = 0;
      REQUIRE(queue.resume(positions, window.room()));
    }
    window.acknowledge(std::exchange(unwritten, 0));
    REQUIRE(queue.acknowledge(last, received + window.room(), last));
  }
}

TEST_CASE("whoever does not wait is told apart by the next chunk") {
  OutputWindow window(least_output_window);
  const OutputChunk chunk{1, 0, OutputStream::out, std::string(max_chunk_bytes, 'x')};
  CHECK(window.take(chunk));
  CHECK_FALSE(window.take(chunk));
  window.acknowledge(cost_of(chunk));
  CHECK(window.take(chunk));
}
