// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan_text.hpp"

#include <sstream>

#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

Plan planned(const ExperimentConfig& experiment, const HostInventory& hosts) {
  auto plan = make_plan(experiment, hosts);
  REQUIRE(plan);
  return std::move(*plan);
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

}  // namespace

TEST_CASE("a plan is shown as hosts with their slots, ranks and remarks") {
  ExperimentConfig experiment = slot_experiment(5);
  experiment.placement = PlacementPolicy::spread;
  experiment.global_batch_size = 101;
  const Plan plan =
      planned(experiment, inventory_of({place_host("node01", 4), place_host("b", 2)}));
  CHECK(plan_to_text(plan) ==
        "digits: 5 ranks on 2 hosts, 5 slots, global batch 101 (100 used)\n"
        "\n"
        "HOST    RANKS IN ITS SLOTS\n"
        "node01  0 1 2 .\n"
        "b       3 4\n"
        "\n"
        "RANK  HOST    LOCAL  SLOTS  BATCH\n"
        "0     node01  0      0      20\n"
        "1     node01  1      1      20\n"
        "2     node01  2      2      20\n"
        "3     b       0      0      20\n"
        "4     b       1      1      20\n"
        "\n"
        "warning: global_batch_size 101 does not divide by 5 workers: they take 100\n"
        "  samples per step (batch_remainder: spread takes all)\n");
}

TEST_CASE("a slot that several ranks share shows them all") {
  const std::string text = plan_to_text(planned(gpu_experiment(3, 0.5), gpu_inventory({2})));
  CHECK(text.find("n1    0+1   2\n") != std::string::npos);
}

TEST_CASE("a CPU-only worker beside GPUs has no cell") {
  const std::string text = plan_to_text(planned(cpu_experiment(2, 1), gpu_inventory({2})));
  CHECK(text.find("n1    ranks 0-1 (CPU only)\n") != std::string::npos);
}

TEST_CASE("a large plan is folded to one screen of eighty columns") {
  std::vector<Host> hosts;
  for (int i = 0; i < 1'000; ++i)
    hosts.push_back(
        gpu_host("a-very-long-host-name-of-a-large-machine-room-" + std::to_string(i), 8));
  ExperimentConfig experiment = slot_experiment(8'000);
  experiment.global_batch_size = 8'001;
  const std::string text = plan_to_text(planned(experiment, inventory_of(hosts)));
  CHECK(text.find("... 992 more hosts\n") != std::string::npos);
  CHECK(text.find("... 7992 more ranks\n") != std::string::npos);
  CHECK(text.find("\n7999  ") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') < 40);
  CHECK(widest_line(text) <= 80);
}

TEST_CASE("many slots of one host are told in words") {
  const std::string text = plan_to_text(planned(slot_experiment(60), gpu_inventory({60})));
  CHECK(text.find("n1    ranks 0-59 in 60 of 60 slots\n") != std::string::npos);
  CHECK(widest_line(text) <= 80);
}

TEST_CASE("control sequences come only with colour") {
  const Plan plan = planned(slot_experiment(1), gpu_inventory({1}));
  CHECK(plan_to_text(plan).find('\x1b') == std::string::npos);
  CHECK(plan_to_text(plan, {.width = 80, .color = true}).find("\x1b[1mdigits:") == 0);
}

TEST_CASE("slots that a filter left out are marked") {
  Host host = gpu_host("n1", 5);
  host.slot_indices = {0, 2, 3};
  const std::string text = plan_to_text(planned(slot_experiment(2), inventory_of({host})));
  CHECK(text.find("n1    0 - 1 . -\n") != std::string::npos);
}
