// SPDX-License-Identifier: Apache-2.0
#include "backends/link/send_queue.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("bytes come out in the order in which they went in, in pieces of any size") {
  SendQueue queue;
  CHECK(queue.empty());
  queue.push("abc");
  queue.push("");
  queue.push(SharedBytes::constant("defg"));
  CHECK(queue.size() == 7);
  std::string taken;
  for (std::size_t step = 1; !queue.empty(); ++step) {
    const auto piece = queue.front().substr(0, step);
    REQUIRE_FALSE(piece.empty());
    taken += piece;
    queue.consume(piece.size());
  }
  CHECK(taken == "abcdefg");
  CHECK(queue.size() == 0);
  CHECK(queue.front().empty());
}

TEST_CASE("an upload is a line with sizes and checksum, then the packed bytes, which are shared") {
  const auto packed = std::make_shared<const std::string>("packed");
  SendQueue queue;
  queue.push_upload({SharedBytes(packed), 17, "abc"});
  CHECK(queue.front() == "6 17 abc\n");
  queue.consume(queue.front().size());
  CHECK(queue.front().data() == packed->data());
  queue.clear();
  CHECK(queue.empty());
  CHECK(packed.use_count() == 1);
}
