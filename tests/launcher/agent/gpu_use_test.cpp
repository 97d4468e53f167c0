// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/gpu_use.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

RankUsage used_by(int rank, const GpusOfRanks& gpus, const std::vector<GpuUse>& uses) {
  UsageOfRank used{rank, {}};
  add_gpu_use(used, gpus, uses);
  return used.usage;
}

}  // namespace

TEST_CASE("what the driver says of GPUs is read, with values that it refuses missing") {
  const auto uses = decode_gpu_uses(
      R"({"devices":[{"index":0,"uuid":"GPU-5a","busy":97,"memory_used":4096},{"index":7}]})");
  REQUIRE(uses);
  CHECK(*uses == std::vector<GpuUse>{{0, 97, 4'096}, {7, {}, {}}});
  CHECK(decode_gpu_uses(R"({"devices":[]})")->empty());
}

TEST_CASE("what no driver says of GPUs is refused") {
  for (const char* line :
       {"", "7", "{}", R"({"devices":{}})", R"({"devices":[{}]})", R"({"devices":[{"index":-1}]})",
        R"({"devices":[{"index":1024}]})", R"({"devices":[{"index":0,"busy":101}]})",
        R"({"devices":[{"index":0,"busy":-1}]})", R"({"devices":[{"index":0,"memory_used":-1}]})",
        R"({"devices":[{"index":0,"memory_used":"1"}]})"}) {
    INFO(line);
    const auto uses = decode_gpu_uses(line);
    REQUIRE_FALSE(uses);
    CHECK(uses.error().error_class == ErrorClass::host);
  }
}

TEST_CASE("a rank uses its own GPUs, and no others") {
  const GpusOfRanks gpus{{4, {0}}, {5, {2, 3}}};
  const std::vector<GpuUse> uses{{0, 97, 10}, {1, 50, 1'000}, {2, 100, 7}, {3, 30, 8}};
  CHECK(used_by(4, gpus, uses).gpu == 970);
  CHECK(used_by(4, gpus, uses).gpu_memory == 10);
  CHECK(used_by(5, gpus, uses).gpu == 1'300);
  CHECK(used_by(5, gpus, uses).gpu_memory == 15);
  CHECK(used_by(6, gpus, uses) == RankUsage());
}

TEST_CASE("ranks that share a GPU have equal parts of its use") {
  const GpusOfRanks gpus{{0, {0}}, {1, {0, 1}}};
  const std::vector<GpuUse> uses{{0, 80, 100}, {1, 10, 7}};
  CHECK(used_by(0, gpus, uses).gpu == 400);
  CHECK(used_by(1, gpus, uses).gpu == 500);
  CHECK(used_by(0, gpus, uses).gpu_memory == 50);
  CHECK(used_by(1, gpus, uses).gpu_memory == 57);
}

TEST_CASE("a sum of which a part is not known is not known") {
  const GpusOfRanks gpus{{0, {0, 1}}};
  CHECK(used_by(0, gpus, {}) == RankUsage());
  CHECK(used_by(0, gpus, {{0, 80, 100}}) == RankUsage());
  const RankUsage usage = used_by(0, gpus, {{0, 80, 100}, {1, {}, 5}});
  CHECK_FALSE(usage.gpu);
  CHECK(usage.gpu_memory == 105);
}
