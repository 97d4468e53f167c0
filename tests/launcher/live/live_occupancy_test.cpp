// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/live_occupancy.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

using Kind = LeaseKey::Kind;

LeaseHolder holder_of(std::vector<LeaseHolder::Held> leases) {
  LeaseHolder holder{"abcd2345", "digits", "alice@head", 1'000, "alice", 90'000};
  holder.is_running = true;
  holder.leases = std::move(leases);
  return holder;
}

HostReport report_with(std::vector<LeaseHolder> holders) {
  HostReport report;
  report.holders = std::move(holders);
  return report;
}

WorkerNeeds needs_of_gpus() { return gpu_experiment(1, 1).needs; }
WorkerNeeds needs_of_slots() { return slot_experiment(1).needs; }

}  // namespace

TEST_CASE("a slot is held that is the GPU of that identity, whatever its number is now") {
  HostReport report = report_with({holder_of(
      {{{Kind::cuda, 0, "GPU-b"}, lease_units}, {{Kind::cuda, 7, "GPU-elsewhere"}, lease_units}})});
  report.gpus.cuda = {0, 1};
  report.cuda_names = {"GPU-a", "GPU-b"};
  const Occupancy held = occupancy_of(gpu_host("n1", 2), needs_of_gpus(), report);
  REQUIRE(held.size() == 1);
  CHECK(held[0].host == "n1");
  CHECK(held[0].holder == "task abcd2345 ('digits') of alice (launched by alice@head)");
  CHECK(held[0].slots == std::map<int, Quantity>{{1, Quantity::of(1)}});
  CHECK(held[0].held_ms == 90'000);
}

TEST_CASE("where one side does not say identities, numbers count") {
  HostReport report = report_with({holder_of({{{Kind::cuda, 1, "GPU-b"}, 2'500}})});
  report.gpus.cuda = {0, 1};
  const Occupancy held = occupancy_of(gpu_host("n1", 2), needs_of_gpus(), report);
  REQUIRE(held.size() == 1);
  CHECK(held[0].slots == std::map<int, Quantity>{{1, amount(0.25)}});
}

TEST_CASE("slots of which only the host knows what they are, are what it says") {
  const Host host = place_host("n1", 2);
  HostReport report = report_with({holder_of({{{Kind::cuda, 4, {}}, lease_units}}),
                                   holder_of({{{Kind::place, 1, {}}, lease_units}})});
  const auto held_slot = [&] {
    const Occupancy held = occupancy_of(host, needs_of_slots(), report);
    REQUIRE(held.size() == 1);
    return held[0].slots;
  };
  CHECK(held_slot() == std::map<int, Quantity>{{1, Quantity::of(1)}});  // no GPUs: places
  report.gpus.cuda = {4, 5};  // the order of the host's sessions
  CHECK(held_slot() == std::map<int, Quantity>{{0, Quantity::of(1)}});
}

TEST_CASE("places and GPUs of one host are not the same") {
  const HostReport report = report_with({holder_of({{{Kind::place, 0, {}}, lease_units}})});
  CHECK(occupancy_of(gpu_host("n1", 2), needs_of_gpus(), report).empty());
}

TEST_CASE("CPUs, memory and what only the hosts file knows are held as amounts") {
  const HostReport report = report_with({holder_of({{{Kind::cpus, 0, {}}, 25'000},
                                                    {{Kind::memory, 0, {}}, 1'000'000},
                                                    {{Kind::custom, 0, "ssd"}, 10'000}})});
  Host host = cpu_host("n1", 8);
  host.memory = 4'000'000;
  host.custom["ssd"] = Quantity::of(2);
  const Occupancy held = occupancy_of(host, needs_of_slots(), report);
  REQUIRE(held.size() == 1);
  CHECK(held[0].slots.empty());
  CHECK(held[0].cpus == amount(2.5));
  CHECK(held[0].memory == 1'000'000);
  CHECK(held[0].custom == std::map<std::string, Quantity>{{"ssd", Quantity::of(1)}});
}

TEST_CASE("amounts that no host has do not overflow") {
  const HostReport report = report_with({holder_of({{{Kind::cpus, 0, {}}, UINT64_MAX}})});
  const Occupancy held = occupancy_of(cpu_host("n1", 8), needs_of_slots(), report);
  REQUIRE(held.size() == 1);
  CHECK(held[0].cpus == Quantity::of(1'000'000'000));
}

TEST_CASE("a plan goes around what hosts say is held, and hosts that say nothing are idle") {
  HostInventory inventory = inventory_of({place_host("n1", 2), place_host("n2", 2)});
  for (Host& host : inventory.hosts) {
    host.slot_type = SlotType::cpu;
    settle_accelerators(host);
  }
  const ExperimentConfig experiment = slot_experiment(2);
  const HostReport busy = report_with({holder_of({{{Kind::place, 0, {}}, lease_units}})});
  const auto hosts_with = [&](const std::vector<std::optional<HostReport>>& reports) {
    const auto plan =
        make_plan(experiment, inventory, occupancy_of(inventory, experiment, reports));
    REQUIRE(plan);
    std::vector<std::string> hosts;
    for (const PlannedHost& host : plan->trial.hosts) hosts.push_back(host.host.name);
    return hosts;
  };
  CHECK(hosts_with({busy, std::nullopt}) == std::vector<std::string>{"n2"});
  CHECK(hosts_with({std::nullopt, busy}) == std::vector<std::string>{"n1"});
  const auto refused =
      make_plan(experiment, inventory, occupancy_of(inventory, experiment, {busy, busy}));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == Refusal::Kind::busy);
  REQUIRE(refused.error().holders.size() == 1);
  CHECK(holder_lines(refused.error().holders) ==
        std::vector<std::string>{"task abcd2345 ('digits') of alice (launched by alice@head) holds "
                                 "2 slots of n[1-2], for 90 s"});
}

TEST_CASE("who computes on a GPU outside of tasks has it, unless the experiment allows that") {
  HostInventory inventory = inventory_of({gpu_host("n1", 2)});
  ExperimentConfig experiment = slot_experiment(1);
  experiment.needs = needs_of_gpus();
  LeaseHolder user = holder_of({{{Kind::cuda, 1, {}}, lease_units}});
  user.task.clear();
  user.pid = 4711;
  user.command = "python3 other.py";
  const HostReport report = report_with({user});
  const Occupancy held = occupancy_of(inventory, experiment, {report});
  REQUIRE(held.size() == 1);
  CHECK(held[0].slots == std::map<int, Quantity>{{1, Quantity::of(1)}});
  CHECK(held[0].holder ==
        "process 4711 of alice ('python3 other.py', of task digits that holds nothing there)");
  experiment.allow_busy = true;
  CHECK(occupancy_of(inventory, experiment, {report}).empty());
}

TEST_CASE("a host in whose line somebody stands is nobody else's") {
  HostReport report = report_with({});
  Ticket ticket;
  ticket.order.task = "abcd2345";
  ticket.name = "digits";
  ticket.user = "alice";
  report.tickets = {ticket};
  const Occupancy held = occupancy_of(gpu_host("n1", 2), needs_of_gpus(), report);
  REQUIRE(held.size() == 1);
  CHECK(held[0].holder == "task abcd2345 ('digits') of alice, which waits in line,");
  CHECK(held[0].slots == std::map<int, Quantity>{{0, Quantity::of(1)}, {1, Quantity::of(1)}});
}
