// SPDX-License-Identifier: Apache-2.0
#include "launcher/frames/json_fields.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/contains.hpp"

using namespace train;
using train::testing::contains;

namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("a document that is nested too deep is refused before it is parsed") {
  int read = 0;
  const auto count = [&](const nlohmann::json&) { ++read; };
  CHECK(read_document(nested(64), 1'000, "no document", count));
  CHECK(read == 1);
  const auto deeper = read_document(nested(65), 1'000, "no document", count);
  REQUIRE_FALSE(deeper);
  CHECK(deeper.error().error_class == ErrorClass::host);
  CHECK(contains(render(deeper.error()), "no document: it is nested too deep"));
  CHECK_FALSE(read_document(std::string(1'000, '['), 1'000, "no document", count));
  CHECK(read == 1);
}

TEST_CASE("brackets within strings, and those that are closed, do not count as nesting") {
  CHECK_FALSE(nests_deeper(R"(["[[[[", "\"[[[["])", 1));
  CHECK_FALSE(nests_deeper("[[], {}, []]", 2));
  CHECK(nests_deeper("[[], {}, []]", 1));
  CHECK_FALSE(nests_deeper("]]]]", 0));
}
