// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/host_gpus.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;
using Uncounted = HostGpus::Obstacle;

namespace {

PlannedHost planned_on(Host host, bool asks_for_gpus = false) {
  const int slots = slot_count(host).value_or(1);
  const auto experiment = asks_for_gpus ? gpu_experiment(slots, 1) : slot_experiment(slots);
  const auto plan = make_plan(experiment, inventory_of({std::move(host)}));
  REQUIRE(plan);
  return plan->trial.hosts.front();
}

// What is said against the host; empty: nothing.
std::string said(const PlannedHost& host, const HostGpus& found,
                 CollectiveBackend backend = CollectiveBackend::automatic) {
  const auto obstacle = gpu_obstacle(host, backend, found);
  return obstacle ? obstacle->message : "";
}

Trial trial_of(std::vector<Host> hosts) {
  int slots = 0;
  for (const Host& host : hosts) slots += slot_count(host).value_or(1);
  auto experiment = slot_experiment(slots);
  experiment.placement = PlacementPolicy::pack;
  auto plan = make_plan(experiment, inventory_of(std::move(hosts)));
  REQUIRE(plan);
  return std::move(plan->trial);
}

Host with_type(Host host, SlotType type) {
  host.slot_type = type;
  settle_accelerators(host);
  return host;
}

}  // namespace

TEST_CASE("a host that has some GPUs, but fewer than slots, is refused with the numbers") {
  const PlannedHost host = planned_on(place_host("n1", 2));
  CHECK(host.devices_at_launch);
  struct Row {
    HostGpus found;
    std::string said;
  };
  const Row row = GENERATE(values<Row>({
      {{}, ""},
      {{.cuda = {0, 1}}, ""},
      {{.cuda = {0, 1, 2, 3}, .rocm = {0}}, ""},
      {{.rocm = {0, 1}}, ""},
      {{.hidden = 8}, ""},
      {{.cuda = {3}}, "says 2 slots and has 1 GPU"},
      {{.rocm = {0}}, "says 2 slots and has 1 GPU"},
      {{.cuda = {3}, .hidden = 4},
       "says 2 slots and has 1 GPU (4 more that its sessions may not use)"},
      {{.cuda = {0}, .split = 1},
       "says 2 slots and has 1 GPU and 1 in MIG mode, which is no whole device"},
      {{.split = 2}, "says 2 slots and has no GPU but 2 in MIG mode, which are no whole devices"},
  }));
  CHECK(said(host, row.found) == row.said);
}

TEST_CASE("what cannot be counted keeps slots from being guessed, but not declared GPUs") {
  const PlannedHost asked = planned_on(place_host("n1", 1));
  CHECK(said(asked, {.obstacle = Uncounted::mig_in_session}) ==
        "it is not known what its slots are: CUDA_VISIBLE_DEVICES of its sessions names MIG "
        "devices, which are no whole GPUs");
  CHECK(said(asked, {.obstacle = Uncounted::uuids_not_shown}).find("UUIDs") != std::string::npos);
  CHECK(said(asked, {.obstacle = Uncounted::driver_unknown}).find("driver") != std::string::npos);
  CHECK(said(planned_on(gpu_host("n1", 1)), {.obstacle = Uncounted::driver_unknown}).empty());
}

TEST_CASE("slots that must be GPUs are refused where there is none") {
  const std::string none = "its 2 slots are to be GPUs, and it has no GPU";
  CHECK(said(planned_on(place_host("n1", 2), true), {}) == none);
  CHECK(said(planned_on(place_host("n1", 2)), {}, CollectiveBackend::nccl) == none);
  CHECK(said(planned_on(place_host("n1", 2), true), {.rocm = {0, 1}}).empty());
  CHECK(said(planned_on(plain_host("n1"), true), {.hidden = 1}) ==
        "its slot is to be a GPU, and it has no GPU (1 that its sessions may not use)");
}

TEST_CASE("declared GPUs must be those that are there") {
  const PlannedHost host = planned_on(gpu_host("n1", 2));
  CHECK_FALSE(host.devices_at_launch);
  CHECK(said(host, {.cuda = {0, 1}}).empty());
  CHECK(said(host, {.cuda = {1, 0, 2}}).empty());
  CHECK(said(host, {}) == "declares 2 GPUs, and has no GPU");
  CHECK(said(host, {.cuda = {0}, .split = 1}) ==
        "declares 2 GPUs, and has 1 GPU and 1 in MIG mode, which is no whole device");
  CHECK(said(host, {.cuda = {2, 3}, .hidden = 2}) ==
        "its ranks are to get its GPUs 0,1, and its sessions may use 2,3");
  CHECK(said(host, {.rocm = {0, 1}}) == "declares 2 GPUs, and has no GPU");
  const PlannedHost amd = planned_on(with_type(place_host("n1", 2), SlotType::rocm));
  CHECK(said(amd, {.rocm = {0, 1}}).empty());
  CHECK(said(amd, {.cuda = {0, 1}}) == "declares AMD's 2 GPUs, and has no GPU");
}

TEST_CASE("only the GPUs that ranks are given must be there") {
  Host host = gpu_host("n1", 8);
  host.slot_indices = {0, 1};
  CHECK(said(planned_on(place_host("n1", 2)), {.cuda = {0, 1}}).empty());
  auto plan = make_plan(slot_experiment(2), inventory_of({host}));
  REQUIRE(plan);
  CHECK(said(plan->trial.hosts.front(), {.cuda = {0, 1}}).empty());
  Host asked = place_host("n1", 8);
  asked.slot_indices = {0, 3};
  plan = make_plan(slot_experiment(2), inventory_of({asked}));
  REQUIRE(plan);
  CHECK(said(plan->trial.hosts.front(), {.cuda = {0, 1, 2, 3}}).empty());
  CHECK(said(plan->trial.hosts.front(), {.cuda = {0, 1, 2}}) == "says 4 slots and has 3 GPUs");
}

TEST_CASE("what agents do not count is not asked of them") {
  Host gaudi = gpu_host("n1", 2);
  gaudi.accelerator_type = "Intel-GAUDI";
  CHECK(said(planned_on(gaudi), {}).empty());
  Host counted_here = gpu_host("n1", 2);
  counted_here.device_indices = {0, 1};
  CHECK(said(planned_on(counted_here), {}).empty());
  CHECK(said(planned_on(with_type(place_host("n1", 2), SlotType::cpu)), {.cuda = {0}}).empty());
}

TEST_CASE("slots mean the same on all hosts of a trial, or it is refused with the numbers") {
  using Found = std::vector<HostGpus>;
  const HostGpus none;
  const HostGpus two{.cuda = {0, 1}};
  const HostGpus amd{.rocm = {0, 1}};
  const Trial asked = trial_of({place_host("n1", 2), place_host("n2", 2)});
  CHECK(slot_meaning(asked, Found{two, two}) == SlotMeaning::cuda);
  CHECK(slot_meaning(asked, Found{amd, amd}) == SlotMeaning::rocm);
  CHECK(slot_meaning(asked, Found{none, none}) == SlotMeaning::places);
  const auto differ = slot_meaning(asked, Found{two, none});
  REQUIRE_FALSE(differ);
  CHECK(differ.error().error_class == ErrorClass::host);
  CHECK(differ.error().diagnostics.front().message ==
        "slots are to be the same on all hosts of a trial, GPUs or places, and these differ: n1 2 "
        "GPUs, n2 no GPU");
  const auto makers = slot_meaning(asked, Found{two, amd});
  REQUIRE_FALSE(makers);
  CHECK(makers.error().diagnostics.front().message.ends_with("n1 2 GPUs, n2 AMD's 2 GPUs"));

  const Trial with_gpus = trial_of({gpu_host("n1", 2), place_host("n2", 2)});
  CHECK(slot_meaning(with_gpus, Found{two, two}) == SlotMeaning::cuda);
  CHECK_FALSE(slot_meaning(with_gpus, Found{two, none}));
  const Trial with_places =
      trial_of({with_type(place_host("n1", 2), SlotType::cpu), place_host("n2", 2)});
  CHECK(slot_meaning(with_places, Found{two, none}) == SlotMeaning::places);
  CHECK_FALSE(slot_meaning(with_places, Found{two, two}));
  const Trial known = trial_of({gpu_host("n1", 2), gpu_host("n2", 2)});
  const auto nobody_asked = slot_meaning(known, Found{none, none});
  REQUIRE(nobody_asked);
  CHECK_FALSE(nobody_asked->has_value());
}

TEST_CASE("GPUs that were counted here and are too few are refused before anything is asked") {
  Host host = place_host("localhost", 4);
  host.too_few_gpus = 1;
  const auto plan = make_plan(slot_experiment(1), inventory_of({host}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons.front() == "'localhost' says 4 slots and has 1 GPU");
  CHECK(plan.error().reasons.back().find("'slot_type: cpu'") != std::string::npos);
  CHECK(make_plan(cpu_experiment(1, 1), inventory_of({host})));
  host.slot_indices = {0};
  CHECK(make_plan(slot_experiment(1), inventory_of({host})));
}
