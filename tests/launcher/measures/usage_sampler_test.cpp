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

TEST_CASE("a sample survives its line") {
  const UsageSample sample{1'764'000'000'000, 2, {std::nullopt, 1'500}, {0, std::nullopt}};
  const std::string line = encode_sample(sample);
  CHECK(line.back() == '\n');
  const auto read = decode_sample(line);
  REQUIRE(read);
  CHECK(*read == sample);
  CHECK_FALSE(decode_sample(line.substr(0, line.size() / 2)));
  CHECK_FALSE(decode_sample(R"({"at_ms": 1, "attempt": 0, "cpu": [-1], "memory": []})"));
}
