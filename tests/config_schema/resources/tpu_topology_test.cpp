// SPDX-License-Identifier: Apache-2.0
#include "config_schema/resources/tpu_topology.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("a slice has so many chips and hosts") {
  const auto [generation, shape, chips, hosts] =
      GENERATE(table<std::string, std::string, int, int>({
          {"v6e", "4x4", 16, 4},
          {"v4", "2x2x2", 8, 2},
          {"v6e", "2x4", 8, 1},
          {"v6e", "1x1", 1, 1},
          {"v5litepod", "2x2", 4, 1},
          {"v5litepod", "2x8", 16, 4},
          {"v2", "4x4", 16, 4},
          {"v3", "32x32", 1024, 256},
          {"v4", "2x2x1", 4, 1},
          {"v4", "12x12x16", 2304, 576},
          {"v5p", "16x16x24", 6144, 1536},
          {"v7x", "8x16x16", 2048, 512},
      }));
  INFO(generation << " " << shape);
  const auto slice = tpu_slice(generation, shape);
  REQUIRE(slice);
  CHECK(slice->chips == chips);
  CHECK(slice->hosts == hosts);
  CHECK(slice->chips_per_host * slice->hosts == chips);
}

TEST_CASE("other shapes are none") {
  for (const char* shape :
       {"", "x", "4", "3x3", "4x4x4x4", "2x", "-2x2", "4x16x16x", "99999999999x4"})
    for (const std::string& generation : tpu_generations())
      CHECK_FALSE(tpu_slice(generation, shape));
  CHECK_FALSE(tpu_slice("v4", "16x16x16"));  // beyond 12x12x16
  CHECK_FALSE(tpu_slice("v6e", "2x2x1"));
  CHECK_FALSE(tpu_slice("v9", "4x4"));
}

TEST_CASE("types are read in any case, with or without TPU-") {
  CHECK(tpu_generation("TPU-V6E") == "v6e");
  CHECK(tpu_generation("v5litepod") == "v5litepod");
  CHECK(tpu_generation("tpu-v4") == "v4");
  CHECK_FALSE(tpu_generation("A100"));
  CHECK_FALSE(tpu_generation("TPU-"));
}
