// SPDX-License-Identifier: Apache-2.0
#include "launcher/frames/line_buffer.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("lines come out whole, in whatever pieces they go in") {
  const std::string text = "one\n\ntwo words\nlast\nno end";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    LineBuffer buffer;
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size(); begin += size) {
      buffer.feed(std::string_view(text).substr(begin, size));
      while (const auto line = buffer.next()) lines.emplace_back(*line);
    }
    CHECK(lines == std::vector<std::string>{"one", "", "two words", "last"});
    CHECK(buffer.rest() == "no end");
  }
}

TEST_CASE("lines that are left for later are not lost") {
  LineBuffer buffer;
  buffer.feed("a\nb\nc");
  CHECK(buffer.next() == "a");
  buffer.feed("d\n");
  CHECK(buffer.next() == "b");
  CHECK(buffer.next() == "cd");
  CHECK_FALSE(buffer.next());
  CHECK(buffer.rest().empty());
}
