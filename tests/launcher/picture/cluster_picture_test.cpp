// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/cluster_picture.hpp"

#include <fmt/format.h>

#include <numeric>

#include "config_schema/hosts/host_filter.hpp"
#include "launcher/picture/cells.hpp"
#include "tests/launcher/picture/scene.hpp"

using namespace train;

namespace {

// "n1+n2 0 [0x2 .x6] note": hosts, first rank, cells with their slots.
std::string shown(const PictureRow& row) {
  std::string cells;
  for (const SlotRun& run : row.look.runs)
    cells += fmt::format("{}{}{}", cells.empty() ? "" : " ", cell_label(run, row.first_rank),
                         run.slots > 1 ? fmt::format("x{}", run.slots) : "");
  const std::string first = row.first_rank ? fmt::format("{}", *row.first_rank) : "-";
  std::string text = fmt::format("{} {} [{}]", fmt::join(row.hosts, "+"), first, cells);
  for (const std::string& note : row.look.note) text += " " + note;
  return row.is_rest ? "rest " + text : text;
}

std::vector<std::string> drawn(const Scene& scene, std::size_t most_rows = 16) {
  std::vector<std::string> rows;
  for (const PictureRow& row : draw_cluster(scene.subject(most_rows)).rows)
    rows.push_back(shown(row));
  return rows;
}

using Rows = std::vector<std::string>;

Scene filtered(Scene scene, FilterKind kind, const std::string& filter) {
  auto left = filter_hosts(scene.named, kind, filter);
  REQUIRE(left);
  scene.usable = std::move(*left);
  auto plan = make_plan(scene.plan.experiment, scene.usable);
  REQUIRE(plan);
  scene.plan = std::move(*plan);
  return scene;
}

}  // namespace

TEST_CASE("every host is a row, those without ranks together") {
  CHECK(drawn(scene_of(slot_experiment(8), gpu_inventory({2, 4, 2, 4, 2}))) ==
        Rows{"n1+n3+n5 - [.x2]", "n2 0 [0 1 2 3]", "n4 4 [4 5 6 7]"});
}

TEST_CASE("all slots of a rank are one cell, all ranks of a slot another") {
  CHECK(drawn(scene_of(gpu_experiment(2, 2), gpu_inventory({5}))) == Rows{"n1 0 [0x2 1x2 .]"});
  CHECK(drawn(scene_of(gpu_experiment(5, 0.4), gpu_inventory({4}))) ==
        Rows{"n1 0 [0-1 2-3 4+. .]"});
  CHECK(drawn(scene_of(cpu_experiment(2, 1.5), inventory_of({cpu_host("c", 4)}))) ==
        Rows{"c 0 [0 0-1 1 .]"});
}

TEST_CASE("one process per host takes all slots of its workers") {
  ExperimentConfig experiment = slot_experiment(8);
  experiment.processes = Processes::per_host;
  CHECK(drawn(scene_of(experiment, gpu_inventory({4, 4}))) == Rows{"n1 0 [0x4]", "n2 1 [1x4]"});
}

TEST_CASE("what a filter left out is drawn as such, whole hosts in their place") {
  const Scene all = scene_of(slot_experiment(2), gpu_inventory({4, 4, 4, 4}));
  CHECK(drawn(filtered(all, FilterKind::exclude, "n1@n2:1,3@n3")) ==
        Rows{"n1+n3 - [-x4]", "n2 0 [0 - 1 -]", "n4 - [.x4]"});
  CHECK(drawn(filtered(all, FilterKind::include, "n4:2-3")) ==
        Rows{"n1+n2+n3 - [-x4]", "n4 0 [-x2 0 1]"});
}

TEST_CASE("slots of others name their holders, once each") {
  Scene scene = scene_of(slot_experiment(2), gpu_inventory({2, 4, 4}));
  scene.occupancy = {use_of("n2", "alice", {0, 1}), use_of("n2", "bob", {3}, 0.5),
                     use_of("n3", "bob", {1}), use_of("n1", "carol", {1}),
                     use_of("elsewhere", "dave", {0})};
  CHECK(drawn(scene) == Rows{"n1 0 [0 1+a]", "n2 - [bx2 . c+.]", "n3 - [. c .x2]"});
  CHECK(draw_cluster(scene.subject()).holders == Rows{"carol", "alice", "bob"});
}

TEST_CASE("CPUs and memory of others are said beside the slots") {
  Scene scene = scene_of(slot_experiment(2), gpu_inventory({2, 4}));
  scene.occupancy = {{.host = "n2", .holder = "bob", .slots = {}, .cpus = amount(4)}};
  scene.occupancy[0].memory = std::uint64_t{3} << 29;
  CHECK(drawn(scene)[1] == "n2 - [.x4] 4 CPUs, 1.5 GiB held by bob");
}

TEST_CASE("what the trainer takes is drawn and said on the host of rank 0") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.trainer.gpus = amount(1);
  experiment.trainer.cpus = amount(2);
  experiment.placement = PlacementPolicy::spread;
  const Scene scene = scene_of(experiment, gpu_inventory({3, 2}));
  CHECK(drawn(scene) == Rows{"n1 0 [0 1 a] trainer: 1 GPU, 2 CPUs", "n2 2 [2 3]"});
  CHECK(draw_cluster(scene.subject()).holders == Rows{"the trainer"});
}

TEST_CASE("a trainer of half a GPU shares it with a rank") {
  ExperimentConfig experiment = gpu_experiment(3, 0.5);
  experiment.trainer.gpus = amount(0.5);
  CHECK(drawn(scene_of(experiment, gpu_inventory({3}))) ==
        Rows{"n1 0 [0-1 . 2+a] trainer: 0.5 GPUs"});
}

TEST_CASE("CPUs of the trainer follow those of the ranks") {
  Host host;
  host.name = "c";
  host.cpus = amount(6);
  ExperimentConfig experiment = slot_experiment(2);
  experiment.needs.cpus = amount(2);
  experiment.trainer.cpus = amount(1);
  CHECK(drawn(scene_of(experiment, inventory_of({host}))) ==
        Rows{"c 0 [0x2 1x2 a .] trainer: 1 CPU"});
}

TEST_CASE("hosts that could not serve say why") {
  Host a100 = gpu_host("a", 4);
  a100.accelerator_type = "A100";
  Host h100 = gpu_host("h", 4);
  h100.accelerator_type = "H100";
  ExperimentConfig experiment = gpu_experiment(4, 1);
  experiment.needs.accelerator_type = "H100";
  CHECK(drawn(scene_of(experiment, inventory_of({a100, h100, gpu_host("u", 4)}))) ==
        Rows{"a - [.x4] A100", "h 0 [0 1 2 3]", "u - [.x4] GPU type not said"});
  CHECK(drawn(scene_of(gpu_experiment(2, 1), inventory_of({cpu_host("c", 8), gpu_host("g", 2)}))) ==
        Rows{"c - [] too few GPUs", "g 0 [0 1]"});
  CHECK(drawn(scene_of(cpu_experiment(2, 2), inventory_of({gpu_host("g", 2)}))) ==
        Rows{"g 0 [.x2] CPU only"});
}

TEST_CASE("neighbours with consecutive ranks share a row when there are many") {
  const Scene scene =
      scene_of(slot_experiment(40), gpu_inventory({4, 4, 4, 4, 4, 2, 4, 4, 4, 4, 4}));
  CHECK(drawn(scene).size() == 11);
  CHECK(drawn(scene, 5) == Rows{"n1+n2+n3+n4+n5+n7+n8+n9+n10+n11 0 [0 1 2 3]", "n6 - [.x2]"});
}

TEST_CASE("hosts whose ranks are scattered share a row when nothing else helps") {
  ExperimentConfig experiment = slot_experiment(18);
  experiment.placement = PlacementPolicy::pack;
  const Scene scene = scene_of(experiment, gpu_inventory({2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}));
  CHECK(drawn(scene, 4) == Rows{"n1+n3+n5+n7+n9+n11 - [* *]", "n2+n4+n6+n8+n10+n12 - [*]"});
}

TEST_CASE("what does not fit even so is counted, hosts with ranks last") {
  std::vector<int> sizes(60);
  std::iota(sizes.begin(), sizes.end(), 1);
  ExperimentConfig experiment = slot_experiment(1'000);
  experiment.placement = PlacementPolicy::pack;
  const Scene scene = scene_of(experiment, gpu_inventory(sizes));
  const ClusterPicture picture = draw_cluster(scene.subject(8));
  REQUIRE(picture.rows.size() == 8);
  std::size_t hosts = 0;
  int ranks = 0;
  int rests = 0;
  for (const PictureRow& row : picture.rows) {
    hosts += row.hosts.size();
    ranks += row.look.ranks * (row.is_rest ? 1 : static_cast<int>(row.hosts.size()));
    rests += row.is_rest ? 1 : 0;
  }
  CHECK(hosts == 60);
  CHECK(ranks == 1'000);
  CHECK(rests == 2);
}

TEST_CASE("every slot of every host is in exactly one run, whatever the cluster") {
  Scene scene = scene_of(gpu_experiment(5, 0.4), gpu_inventory({8, 3, 8, 1}));
  scene.occupancy = {use_of("n1", "a", {0, 1, 7}), use_of("n3", "b", {2, 9})};
  for (const PictureRow& row : draw_cluster(scene.subject()).rows) {
    int next = 0;
    for (const SlotRun& run : row.look.runs) {
      CHECK(run.first_slot == next);
      CHECK(run.slots > 0);
      next += run.slots;
    }
    CHECK(next == row.look.slots);
  }
}

TEST_CASE("a host of many slots is a few runs") {
  const Scene scene = scene_of(cpu_experiment(2, 1), inventory_of({cpu_host("c", 60'000)}));
  const ClusterPicture picture = draw_cluster(scene.subject());
  CHECK(picture.rows[0].look.runs.size() == 3);
  CHECK(picture.rows[0].look.slots == 60'000);
}

TEST_CASE("the runs of a wide host become few") {
  const Scene scene = scene_of(cpu_experiment(100, 2), inventory_of({cpu_host("c", 256)}));
  const HostLook look = draw_cluster(scene.subject()).rows[0].look;
  REQUIRE(look.runs.size() == 101);
  const std::vector<SlotRun> coarse = coarse_runs(look, 4);
  REQUIRE(coarse.size() == 2);
  CHECK(cell_label(coarse[0], 0) == "0-99");
  CHECK(coarse[0].slots == 200);
  CHECK(coarse[1].slots == 56);
  CHECK(coarse_runs(look, 1).empty());
}

TEST_CASE("columns are shared by slots, and everybody has what it needs") {
  const std::vector<SlotRun> runs{{.slots = 900}, {.first_slot = 900, .slots = 100}};
  CHECK(share_columns(runs, {5, 5}, 30) == std::vector<std::size_t>{25, 5});
  CHECK(share_columns(runs, {5, 5}, 100) == std::vector<std::size_t>{90, 10});
  CHECK(share_columns(runs, {5, 5}, 10) == std::vector<std::size_t>{5, 5});
  CHECK(share_columns(runs, {5, 5}, 9).empty());
}

TEST_CASE("the holders after the twenty-sixth share a mark") {
  CHECK(holder_mark(0) == "a");
  CHECK(holder_mark(25) == "z");
  CHECK(holder_mark(26) == "#");
}
