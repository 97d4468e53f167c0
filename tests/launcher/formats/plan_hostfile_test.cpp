// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include <regex>
#include <sstream>

#include "config_schema/hosts/host_filter.hpp"
#include "tests/launcher/picture/scene.hpp"

using namespace train;

namespace {

Plan planned(const ExperimentConfig& experiment, const HostInventory& hosts) {
  auto plan = make_plan(experiment, hosts);
  REQUIRE(plan);
  return std::move(*plan);
}

HostInventory read(const std::string& text) {
  const auto hosts = parse_hosts({"hostfile", text});
  REQUIRE(hosts);
  CHECK(hosts->warnings.empty());
  return *hosts;
}

// The filter that the comment names, or nothing.
std::string filter_in(const std::string& text) {
  const std::string before = "--include '";
  const std::size_t begin = text.find(before);
  if (begin == text.npos) return {};
  return text.substr(begin + before.size(),
                     text.find('\'', begin + before.size()) - begin - before.size());
}

}  // namespace

TEST_CASE("a hostfile has a line for each host, in the order of the ranks") {
  const std::string text = plan_to_hostfile(planned(slot_experiment(16), gpu_inventory({4, 8, 8})));
  CHECK(text ==
        "# digits: 16 ranks on 2 hosts, 16 slots\n"
        "n2 slots=8\n"
        "n3 slots=8\n");
}

TEST_CASE("a hostfile reads back to the hosts and slots of the plan") {
  Host left = gpu_host("n2", 8);
  left.slot_indices = {1, 3, 5, 6};
  left.user = "bob";
  ExperimentConfig experiment = slot_experiment(10);
  experiment.placement = PlacementPolicy::pack;
  const Plan plan =
      planned(experiment, inventory_of({gpu_host("n1", 4), left, gpu_host("fe80::7", 4)}));
  const std::string text = plan_to_hostfile(plan);
  CAPTURE(text);
  CHECK(filter_in(text) == "n1@n2:1,3,5,6@[fe80::7]");
  const auto hosts = filter_hosts(read(text), FilterKind::include, filter_in(text));
  REQUIRE(hosts);
  REQUIRE(hosts->hosts.size() == 3);
  CHECK(hosts->hosts[1].user == "bob");
  const Plan again = planned(experiment, *hosts);
  CHECK(again.trial.ranks.size() == plan.trial.ranks.size());
  CHECK(rank_slots(again) == rank_slots(plan));
}

TEST_CASE("every line of a hostfile is one that DeepSpeed takes") {
  // deepspeed/launcher/runner.py: comments begin a line, all else is NAME slots=N.
  Host host = gpu_host("n1", 2);
  host.address = "10.0.0.7";
  host.port = 2222;
  const std::string text = plan_to_hostfile(planned(gpu_experiment(4, 0.5), inventory_of({host})));
  std::istringstream lines(text);
  const std::regex form(R"(^(\S+)\s+slots=(\d+)\s*$)");
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK((line.front() == '#' || std::regex_match(line, form)));
  }
  CHECK(text.find("# n1 is reached at 10.0.0.7, port 2222\n") != text.npos);
  CHECK(text.find("# processes, which are not one per slot: n1 4 on 2 slots\n") != text.npos);
}

TEST_CASE("workers without GPUs are the slots of a hostfile") {
  CHECK(read(plan_to_hostfile(planned(cpu_experiment(3, 2), inventory_of({cpu_host("c", 8)}))))
            .hosts[0]
            .slots == 3);
  CHECK(read(plan_to_hostfile(planned(cpu_experiment(3, 1), gpu_inventory({2})))).hosts[0].slots ==
        3);
}

TEST_CASE("a name of the experiment does not leave its comment") {
  Plan plan = planned(slot_experiment(1), gpu_inventory({1}));
  plan.experiment.name = "two\nlines slots=9";
  CHECK(read(plan_to_hostfile(plan)).hosts.size() == 1);
}
