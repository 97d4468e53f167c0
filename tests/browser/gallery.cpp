// SPDX-License-Identifier: Apache-2.0
// browser_gallery FOLDER: draws clusters that the program cannot be asked for yet, such as those
// where others hold slots, one SVG each, for tests/browser/svg_test.sh. Prints their names.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "launcher/formats/formats.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

struct Scene {
  std::string name;
  ExperimentConfig experiment;
  HostInventory hosts;
  Occupancy occupancy;
};

// Slots of one host that somebody holds wholly.
HostUse use_of(const std::string& host, const std::string& holder, const std::vector<int>& slots,
               double share = 1) {
  HostUse use{.host = host, .holder = holder, .slots = {}};
  for (const int slot : slots) use.slots.emplace(slot, amount(share));
  return use;
}

Scene held_slots() {
  Scene scene{"held_slots", slot_experiment(4), gpu_inventory({8, 8, 4, 8}), {}};
  scene.experiment.name = "somebody is <there> & \"here\"";
  scene.occupancy = {use_of("n1", "task 3f9c of alice", {0, 1, 2, 3}),
                     use_of("n1", "task 77aa of bob", {4}, 0.5),
                     use_of("n2", "task 77aa of bob", {0, 7}),
                     use_of("n4",
                            "an agent with a very long name that goes on and on and on and on "
                            "until it would leave every picture that it is drawn in",
                            {2})};
  HostUse memory{.host = "n4", .holder = "carol", .slots = {}, .cpus = amount(4)};
  memory.memory = std::uint64_t{64} << 30;
  scene.occupancy.push_back(memory);
  return scene;
}

Scene many_holders() {
  Scene scene{"many_holders", gpu_experiment(6, 0.5), gpu_inventory({64, 32}), {}};
  for (int i = 0; i < 40; ++i)
    scene.occupancy.push_back(
        use_of("n1", fmt::format("task {} of user {}", i, i), {i, i + 1}, 0.4));
  return scene;
}

Scene one_host_with_many_slots() {
  Scene scene{
      "many_slots", cpu_experiment(300, 2), inventory_of({cpu_host("mainframe", 65'000)}), {}};
  return scene;
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc != 2) return 2;
  for (const Scene& scene : {held_slots(), many_holders(), one_host_with_many_slots()}) {
    const auto plan = make_plan(scene.experiment, scene.hosts, scene.occupancy);
    if (!plan) return 1;
    std::ofstream file(fmt::format("{}/{}.svg", argv[1], scene.name));
    file << plan_to_svg(
        {.plan = *plan, .usable = scene.hosts, .named = scene.hosts, .occupancy = scene.occupancy});
    file.close();
    if (!file) return 1;
    fmt::print("{}\n", scene.name);
  }
}
