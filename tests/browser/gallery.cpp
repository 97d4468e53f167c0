// SPDX-License-Identifier: Apache-2.0
// browser_gallery FOLDER: draws what the program cannot be asked for in a test: clusters where
// others hold slots, and searches of many trials, one SVG each, for tests/browser/svg_test.sh.
// Prints their names.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "launcher/formats/formats.hpp"
#include "launcher/picture/metric_chart.hpp"
#include "tests/launcher/builders.hpp"
#include "tests/launcher/picture/some_charts.hpp"

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

// The same search with so many trials.
MetricChart search_of(int trials) { return some_chart(trials, 64); }

MetricChart strange_search() {
  MetricChart chart = some_chart(3, 1);
  chart.caption = {
      "実験 🚀 <b>&amp; a name that goes on and on until no title of any picture could hold it",
      "best: trial 0: activation \"relu\" and much else that goes on and on, "
      "longer than any line of a picture that is not as wide as a house"};
  chart.metric_name =
      "a metric whose name goes on and on until it would leave every picture that it "
      "is drawn in, on either side";
  chart.step_name = chart.metric_name;
  chart.lines[1].points = {{1e12, 1e-30}};
  chart.lines[2].points = {{2e12, 3e30}};
  chart.lines[0].points = {{2e12, 1e-30}};
  chart.best = chart.lines[0].points.front();
  return chart;
}

bool write(const std::string& folder, const std::string& name, const std::string& svg) {
  std::ofstream file(fmt::format("{}/{}.svg", folder, name));
  file << svg;
  file.close();
  if (file) fmt::print("{}\n", name);
  return static_cast<bool>(file);
}

bool write_charts(const std::string& folder) {
  for (const int trials : {1, 24, 1'000, 10'000})
    if (!write(folder, fmt::format("search_of_{}", trials), chart_to_svg(search_of(trials))))
      return false;
  return write(folder, "strange_search", chart_to_svg(strange_search()));
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc != 2) return 2;
  for (const Scene& scene : {held_slots(), many_holders(), one_host_with_many_slots()}) {
    const auto plan = make_plan(scene.experiment, scene.hosts, scene.occupancy);
    if (!plan) return 1;
    const PictureSubject subject{
        .plan = *plan, .usable = scene.hosts, .named = scene.hosts, .occupancy = scene.occupancy};
    if (!write(argv[1], scene.name, plan_to_svg(subject))) return 1;
  }
  return write_charts(argv[1]) ? 0 : 1;
}
