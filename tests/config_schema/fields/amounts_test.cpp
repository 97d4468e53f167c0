// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/amounts.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

std::optional<std::uint64_t> bytes(const std::string& text) {
  return read_bytes(resolve_plain_scalar(text));
}

std::optional<std::chrono::milliseconds> duration(const std::string& text) {
  return read_duration(resolve_plain_scalar(text));
}

}  // namespace

TEST_CASE("bytes are read with and without a unit") {
  CHECK(bytes("1024") == 1024u);
  CHECK(bytes("1e9") == 1'000'000'000u);
  CHECK(bytes("16GiB") == 16ull << 30);
  CHECK(bytes("16 GB") == 16'000'000'000ull);
  CHECK(bytes("1.5KiB") == 1536u);
  CHECK(bytes("0") == 0u);
  CHECK(bytes("4611686018427387904") == 1ull << 62);
}

TEST_CASE("what is no number of bytes is refused") {
  for (const char* text : {"16G", "GiB", "-1", "1.5", ".nan", ".inf", "9999999TiB", "1e30",
                           "1 2GiB", "true", "~", "1..5GiB"})
    CHECK_FALSE(bytes(text));
}

TEST_CASE("durations are seconds, or have a unit") {
  CHECK(duration("10") == 10s);
  CHECK(duration("0.5") == 500ms);
  CHECK(duration("10s") == 10s);
  CHECK(duration("500ms") == 500ms);
  CHECK(duration("2m") == 2min);
  CHECK(duration("1d") == 24h);
  for (const char* text : {"ten", "-1", "10 years", "s", "1e99", ".nan"})
    CHECK_FALSE(duration(text));
}
