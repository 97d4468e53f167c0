// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/output_window.hpp"

#include <utility>

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
  OutputQueue queue({.capacity = 4u << 20, .window = least_output_window});
  OutputWindow window(least_output_window);
  for (int i = 0; i < 10'000 && !queue.full(); ++i)
    queue.push(i % 2, OutputStream::out, bytes, now);
  std::uint64_t last = 0;
  std::size_t cost = 0;
  while (!queue.empty()) {
    while (const auto chunk = queue.take()) {
      REQUIRE(window.take(*chunk));
      last = chunk->number;
      cost += cost_of(*chunk);
    }
    window.acknowledge(std::exchange(cost, 0));
    REQUIRE(queue.acknowledge(last));
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
