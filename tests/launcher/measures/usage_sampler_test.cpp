// SPDX-License-Identifier: Apache-2.0
#include "launcher/measures/usage_sampler.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

RankUsage usage_of(milliseconds cpu, std::uint64_t memory) { return {cpu, memory, memory}; }

using Values = UsageSample::Values;

}  // namespace

TEST_CASE("a sample has the CPUs that each rank used between its last two reports") {
  UsageSampler sampler(2);
  CHECK(sampler.is_empty());
  sampler.used(1, usage_of(0ms, 100), 10s);
  CHECK(sampler.sample(11s).cpu == Values{std::nullopt, std::nullopt});
  sampler.used(1, usage_of(7'500ms, 200), 15s);
  CHECK(sampler.sample(16s).cpu == Values{std::nullopt, 1'500});
  CHECK(sampler.sample(16s).memory == Values{std::nullopt, 200});
}

TEST_CASE("a rank that nothing is reported of any more uses no CPU, and keeps its memory") {
  UsageSampler sampler(1);
  sampler.used(0, usage_of(0ms, 100), 10s);
  sampler.used(0, usage_of(5'000ms, 100), 15s);
  CHECK(sampler.sample(30s).cpu == Values{1'000});
  CHECK(sampler.sample(31s).cpu == Values{0});
  CHECK(sampler.sample(31s).memory == Values{100});
}

TEST_CASE("a rank that has ended is left out") {
  UsageSampler sampler(1);
  sampler.used(0, usage_of(0ms, 100), 10s);
  sampler.used(0, {5'000ms, std::nullopt, 100}, 15s);
  CHECK(sampler.is_empty());
  CHECK(sampler.sample(16s).memory == Values{std::nullopt});
}

TEST_CASE("samples of many ranks have the least, the median and the most") {
  const int ranks = static_cast<int>(most_sampled_ranks) + 1;
  UsageSampler sampler(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    sampler.used(rank, usage_of(0ms, 10 + static_cast<std::uint64_t>(rank)), 10s);
    sampler.used(rank, usage_of(100ms * rank, 10 + static_cast<std::uint64_t>(rank)), 11s);
  }
  CHECK(sampler.sample(12s).cpu == Values{0, 800, 1'600});
  CHECK(sampler.sample(12s).memory == Values{10, 18, 26});
}

TEST_CASE("the use of GPUs is that of the last report, and left out where nobody knows it") {
  UsageSampler sampler(2);
  sampler.used(0, usage_of(0ms, 100), 10s);
  CHECK(sampler.sample(11s).gpu.empty());
  CHECK(sampler.sample(11s).gpu_memory.empty());
  RankUsage usage = usage_of(10ms, 100);
  usage.gpu = 970;
  usage.gpu_memory = 4'096;
  sampler.used(0, usage, 15s);
  CHECK(sampler.sample(16s).gpu == Values{970, std::nullopt});
  CHECK(sampler.sample(16s).gpu_memory == Values{4'096, std::nullopt});
  sampler.used(0, usage_of(20ms, 100), 20s);
  CHECK(sampler.sample(21s).gpu.empty());
}

TEST_CASE("of many ranks the GPUs are spread over those of which they are known") {
  const int ranks = static_cast<int>(most_sampled_ranks) + 1;
  UsageSampler sampler(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    RankUsage usage = usage_of(0ms, 1);
    if (rank < 3) usage.gpu = 10 * rank;
    sampler.used(rank, usage, 10s);
  }
  CHECK(sampler.sample(12s).gpu == Values{0, 10, 20});
  CHECK(sampler.sample(12s).gpu_memory.empty());
}

TEST_CASE("a sample survives its line") {
  const UsageSample sample{1'764'000'000'000, 2, {std::nullopt, 1'500}, {0, std::nullopt}};
  const std::string line = encode_sample(sample);
  CHECK(line.back() == '\n');
  const auto read = decode_sample(line);
  REQUIRE(read);
  CHECK(*read == sample);
  CHECK(line.find("gpu") == std::string::npos);
  UsageSample with_gpus = sample;
  with_gpus.gpu = {970, std::nullopt};
  with_gpus.gpu_memory = {std::nullopt, 1};
  CHECK(*decode_sample(encode_sample(with_gpus)) == with_gpus);
  CHECK_FALSE(decode_sample(line.substr(0, line.size() / 2)));
  CHECK_FALSE(
      decode_sample(R"({"at_ms": 1, "attempt": 0, "cpu": [], "memory": [], "gpu": ["1"]})"));
  CHECK_FALSE(decode_sample(R"({"at_ms": 1, "attempt": 0, "cpu": [-1], "memory": []})"));
}
