// SPDX-License-Identifier: Apache-2.0
#include "cli/record/measure_files.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

TEST_CASE("a full disk costs a line, and is no error", "[measures]") {
  const auto halved = append_halving("/dev/full", "{}\n", longest_usage_file);
  REQUIRE(halved.has_value());
  REQUIRE_FALSE(*halved);
}

TEST_CASE("a file of lines that cannot be opened is an error", "[measures]") {
  TemporaryDirectory directory;
  const std::string missing = directory.path() + "/no/usage.jsonl";
  REQUIRE_FALSE(append_halving(missing, "{}\n", longest_usage_file).has_value());
}

TEST_CASE("a file of lines that grew too long keeps every second line and the last", "[measures]") {
  TemporaryDirectory directory;
  const std::string file = directory.path() + "/usage.jsonl";
  REQUIRE_FALSE(*append_halving(file, "one\n", 11));
  REQUIRE_FALSE(*append_halving(file, "two\n", 11));
  REQUIRE(*append_halving(file, "three\n", 11));
  std::ifstream read(file);
  const std::string text((std::istreambuf_iterator<char>(read)), {});
  REQUIRE(text == "one\nthree\n");
}
