// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/slurm_partition.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr const char* cluster =
    "node01|gpu*|idle|64|512000|gpu:a100:4(S:0-1)|1-00:00:00|none\n"
    "node01|short|idle|64|512000|gpu:a100:4(S:0-1)|30:00|none\n"
    "node02|gpu*|mix|64|512000|gpu:a100:4|1-00:00:00|none\n"
    "node03|gpu*|drng|64|512000|gpu:a100:4|1-00:00:00|disk | is full\n"
    "node04|gpu*|idle*|64|512000|gpu:V100:2,gpu:T4:1|1-00:00:00|Not responding\n"
    "node05|cpu|alloc|16|64000|(null)|infinite|none\n"
    "no line of a node\n"
    "node06|cpu|idle|many|64000|(null)|infinite|none\n";

std::string text_of(const Host& host) {
  return fmt::format("{}:{}/{}{}{}", host.name, slot_count(host).value_or(-1),
                     to_string(host.cpus.value_or(Quantity())),
                     host.accelerator_type.empty() ? "" : ".", host.accelerator_type);
}

std::string hosts_of(const Result<SlurmPartition>& partition) {
  if (!partition) return partition.error().diagnostics.front().message;
  std::string text = partition->name;
  for (const Host& host : partition->hosts.hosts) text += " " + text_of(host);
  for (const Host& host : partition->away)
    text += fmt::format(" -{}({})", text_of(host), partition->away_why.at(host.name));
  return text;
}

}  // namespace

TEST_CASE("the nodes of a partition of Slurm are hosts") {
  CHECK(hosts_of(read_slurm_partition(cluster, {})) ==
        "gpu node01:4/64.A100 node02:4/64.A100 -node03:4/64.A100(drained: disk | is full) "
        "-node04:3/64(it does not answer: Not responding)");
  CHECK(hosts_of(read_slurm_partition(cluster, {.name = "short"})) == "short node01:4/64.A100");
  const auto cpu = read_slurm_partition(cluster, {.name = "cpu"});
  CHECK(hosts_of(cpu) == "cpu node05:16/16");
  CHECK(cpu->hosts.hosts[0].slot_type == SlotType::cpu);
  CHECK(cpu->hosts.hosts[0].memory == std::uint64_t{64000} << 20);
  CHECK(cpu->hosts.hosts[0].pool == "cpu");
}

TEST_CASE("Determined's slots_per_node is the most that is asked of a node") {
  CHECK(hosts_of(read_slurm_partition(cluster, {.name = "short", .slots_per_node = 2})) ==
        "short node01:2/64.A100");
  CHECK(hosts_of(read_slurm_partition(cluster, {.name = "short", .slots_per_node = 8})) ==
        "short node01:4/64.A100");
  CHECK(hosts_of(read_slurm_partition(cluster, {.name = "cpu", .slots_per_node = 1})) ==
        "cpu node05:1/16");
}

TEST_CASE("nodes without GPUs have no slots beside others that have some") {
  constexpr const char* both =
      "n1|p*|idle|8|1000|gpu:2|infinite|none\nn2|p*|idle|8|1000|(null)|infinite|none\n";
  CHECK(hosts_of(read_slurm_partition(both, {})) == "p n1:2/8");
  CHECK(hosts_of(read_slurm_partition(both, {.needs_slots = false})) == "p n1:2/8 n2:8/8");
}

TEST_CASE("a type of GPU is found in any case, and spelled as the cluster spells it") {
  const auto partition = read_slurm_partition(cluster, {.name = "gpu", .gpu_type = "v100"});
  REQUIRE(partition);
  CHECK(partition->gpu_type == "V100");
  CHECK(partition->away.back().accelerators == 2);
  const auto by_constant =
      read_slurm_partition(cluster, {.name = "gpu", .accelerator_type = "V100"});
  REQUIRE(by_constant);
  CHECK(by_constant->gpu_type == "V100");
  CHECK(partition->hosts.hosts.empty());  // the others have another type alone
  CHECK(hosts_of(read_slurm_partition(cluster, {.name = "gpu", .gpu_type = "h100"})) ==
        "slurm.gpu_type: partition gpu has no GPUs of the type 'h100'");
}

TEST_CASE("the limit of time of a partition is read in all of Slurm's forms") {
  const auto limit = [](const char* text) {
    const auto partition =
        read_slurm_partition(fmt::format("n|p*|idle|1|1000|(null)|{}|none", text), {});
    return partition && partition->limit ? partition->limit->count() : -1;
  };
  CHECK(limit("30:00") == 30);
  CHECK(limit("1:30:00") == 90);
  CHECK(limit("2-01:00:00") == 2 * 1440 + 60);
  CHECK(limit("infinite") == -1);
  CHECK(limit("n/a") == -1);
}

TEST_CASE("a partition that is not there is named, with those that are") {
  const auto wrong = read_slurm_partition(cluster, {.name = "gpus"});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().error_class == ErrorClass::config);
  CHECK(wrong.error().diagnostics[0].message ==
        "resources.resource_pool: Slurm has no partition 'gpus'");
  CHECK(wrong.error().diagnostics[0].hint == "did you mean 'gpu'?");
  const auto none = read_slurm_partition("n|p|idle|1|1000|(null)|infinite|none", {});
  REQUIRE_FALSE(none);
  CHECK(none.error().diagnostics[0].message == "Slurm has no default partition");
  const auto empty = read_slurm_partition("", {});
  REQUIRE_FALSE(empty);
  CHECK(empty.error().error_class == ErrorClass::never);
}
