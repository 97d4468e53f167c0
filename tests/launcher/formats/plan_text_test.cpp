// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include <algorithm>
#include <sstream>

#include "config_schema/text/text.hpp"
#include "launcher/picture/columns.hpp"
#include "tests/contains.hpp"
#include "tests/launcher/picture/scene.hpp"

using namespace train;
using train::testing::contains;

namespace {

std::string text_of(const Scene& scene, const TextOptions& options = {}) {
  return plan_to_text(scene.subject(), options);
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, count_columns(line));
  return widest;
}

auto line_count(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

Scene many_hosts(int hosts, int gpus, const std::string& name = "node") {
  std::vector<Host> all;
  for (int i = 0; i < hosts; ++i) all.push_back(gpu_host(name + std::to_string(i), gpus));
  return scene_of(slot_experiment(hosts * gpus), inventory_of(std::move(all)));
}

}  // namespace

TEST_CASE("a plan is shown as hosts with their slots, ranks, batch and remarks") {
  ExperimentConfig experiment = slot_experiment(5);
  experiment.placement = PlacementPolicy::spread;
  experiment.global_batch_size = 101;
  experiment.aggregation_frequency = 2;
  const Scene scene =
      scene_of(experiment, inventory_of({place_host("node01", 4), place_host("b", 2)}));
  CHECK(text_of(scene) ==
        "digits: 5 ranks on 2 hosts, 5 slots\n"
        "\n"
        "HOST    RANKS  SLOTS\n"
        "node01  0-2    |0|1|2|.|\n"
        "b       3-4    |3|4|\n"
        ". free\n"
        "\n"
        "RANK  HOST    LOCAL  SLOTS  BATCH\n"
        "0     node01  0      0      20\n"
        "1     node01  1      1      20\n"
        "2     node01  2      2      20\n"
        "3     b       0      0      20\n"
        "4     b       1      1      20\n"
        "batch: global 101, the ranks take 100, effective 200 (x 2\n"
        "  aggregation_frequency), 20 per slot\n"
        "\n"
        "warning: global_batch_size 101 does not divide by 5 workers: they take 100\n"
        "  samples per step (batch_remainder: spread takes all)\n"
        "\n"
        "advice: node01, b say slots and nothing of GPUs: a launch asks, and slots are\n"
        "  GPUs if all hosts have as many, places without any if none has one (slot_type\n"
        "  in a hosts file says it now)\n");
}

TEST_CASE("shares of the batch that differ are said to") {
  const auto line = [](const ExperimentConfig& experiment) {
    return batch_line(*make_plan(experiment, inventory_of({place_host("a", 8)})));
  };
  ExperimentConfig experiment = slot_experiment(8);
  experiment.global_batch_size = 96;
  CHECK(line(experiment) == "global 96, the ranks take 96, effective 96, 12 per slot");
  experiment.global_batch_size = 100;
  CHECK(line(experiment) == "global 100, the ranks take 96, effective 96, 12 per slot");
  experiment.batch_remainder = BatchRemainder::spread;
  CHECK(line(experiment) == "global 100, the ranks take 100, effective 100, 12 or 13 per worker");
  experiment.processes = Processes::per_host;
  CHECK(line(experiment) == "global 100, the ranks take 100, effective 100, 12 or 13 per worker");
  Host slow = place_host("b", 4);
  slow.weight = 0.5;
  experiment.processes = Processes::per_rank;
  experiment.batch_split = BatchSplit::weighted;
  const auto weighted = make_plan(experiment, inventory_of({place_host("a", 4), slow}));
  CHECK(batch_line(*weighted) ==
        "global 100, the ranks take 100, effective 100, 8 to 17 per worker");
}

TEST_CASE("cells stand below each other, as wide as the widest rank of a slot needs") {
  const std::string text = text_of(many_hosts(6, 4));
  CHECK(contains(text, "node0  0-3    | 0| 1| 2| 3|\n"));
  CHECK(contains(text, "node5  20-23  |20|21|22|23|\n"));
}

TEST_CASE("a rank of several slots spans them, and several ranks of a slot stand in it") {
  CHECK(contains(text_of(scene_of(gpu_experiment(2, 4), gpu_inventory({8}))),
                 "n1    0-1    |0      |1      |\n"));
  const std::string text = text_of(scene_of(gpu_experiment(3, 0.5), gpu_inventory({2})));
  CHECK(contains(text, "n1    0-2    |0-1|2+.|\n"));
  CHECK(contains(text, "+. room for more\n"));
}

TEST_CASE("a CPU-only worker beside GPUs has no cell") {
  CHECK(contains(text_of(scene_of(cpu_experiment(2, 1), gpu_inventory({2}))),
                 "n1    0-1    |.|.|  CPU only\n"));
}

TEST_CASE("the marks of a picture are explained, and only those that it has") {
  Scene scene = scene_of(slot_experiment(2), gpu_inventory({2, 3}));
  CHECK_FALSE(contains(text_of(scene_of(slot_experiment(2), gpu_inventory({2}))), "free"));
  scene.occupancy = {use_of("n2", "task 3f9c of al\x1bice", {1})};
  const std::string text = text_of(scene);
  CHECK(contains(text, "n2    -      |.|a|.|\n. free\na held by task 3f9c of al\\x1bice\n"));
  for (int i = 0; i < 30; ++i) scene.occupancy.push_back(use_of("n2", std::to_string(i), {2}));
  CHECK(contains(text_of(scene), "e... held by 27 others\n"));
}

TEST_CASE("many ranks are told by host, and by neighbouring hosts that are alike") {
  CHECK(contains(text_of(many_hosts(8, 8)), "8-15   node1  0-7    0-7   -\n"));
  const std::string text = text_of(many_hosts(100, 8));
  CHECK(
      contains(text, "node[0-99]  0-799  |0|1|2|3|4|5|6|7|  100 hosts, then 8-15, ..., 792-799\n"));
  CHECK(contains(text, "0-799  node[0-99]  0-7    0-7   -\n"));
}

TEST_CASE("ranks that take other batches are told apart as long as there is room") {
  ExperimentConfig experiment = slot_experiment(320);
  experiment.global_batch_size = 400;
  experiment.batch_remainder = BatchRemainder::spread;
  const std::string text =
      text_of(scene_of(experiment, inventory_of(many_hosts(40, 8).usable.hosts)));
  CHECK(contains(text, "0-79    node[0-9]    0-7    0-7   2 each\n"));
  CHECK(contains(text, "80-319  node[10-39]  0-7    0-7   1 each\n"));
}

TEST_CASE("GPUs are named as their machine does") {
  Host host = gpu_host("n1", 2);
  host.device_indices = {5, 3};
  const std::string text = text_of(scene_of(slot_experiment(2), inventory_of({host})));
  CHECK(contains(text, "RANK  HOST  LOCAL  GPUS  BATCH\n"));
  CHECK(contains(text, "0     n1    0      5     -\n"));
  CHECK(contains(text, "1     n1    1      3     -\n"));
}

TEST_CASE("a host with more slots than the line has columns is drawn in proportion") {
  const std::string text = text_of(scene_of(slot_experiment(60), gpu_inventory({120})));
  CHECK(contains(text, "n1    0-59   |         0-59         |......................| 120 slots\n"));
}

TEST_CASE("a plan of any size fits one screen, and shows every rank or says which it does not") {
  std::vector<Host> odd;
  for (int i = 0; i < 3'000; ++i) odd.push_back(gpu_host("h" + std::to_string(i * 37), 1 + i % 41));
  int slots = 0;
  for (const Host& host : odd) slots += *host.accelerators;
  ExperimentConfig packed = slot_experiment(slots);
  packed.placement = PlacementPolicy::pack;
  const std::vector<Scene> scenes{
      many_hosts(1, 1),
      many_hosts(16, 8),
      many_hosts(1'000, 8, "a-very-long-host-name-of-a-large-machine-room-"),
      many_hosts(3, 192),
      scene_of(packed, inventory_of(odd)),
      scene_of(gpu_experiment(1'280, 0.1), gpu_inventory({64, 64, 1})),
  };
  for (const Scene& scene : scenes) {
    CAPTURE(plan_title(scene.plan, scene.named.hosts.size()));
    for (const auto& [width, height] : {std::pair(80, 40), {40, 24}, {80, 24}, {200, 60}}) {
      CAPTURE(width, height);
      TextOptions options{.width = width, .height = height};
      const std::string text = text_of(scene, options);
      CHECK(widest_line(text) <= static_cast<std::size_t>(width));
      const std::string body =
          text.substr(0, std::min(text.find("\n\nwarning:"), text.find("\n\nadvice:")));
      CHECK(line_count(body) <= height);
      if (height >= 40) CHECK(line_count(text) <= height);
      const std::string last = std::to_string(scene.plan.trial.world_size - 1);
      CHECK((contains(text, "-" + last + " ") || contains(text, last + " ")));
      CHECK_FALSE(find_text_fault(text));
      for (const char c : text) CHECK((c == '\n' || c >= ' ' || c < 0));
    }
  }
}

TEST_CASE("a terminal is not narrower than forty columns") {
  const Scene scene = many_hosts(2, 8);
  CHECK(text_of(scene, {.width = 1}) == text_of(scene, {.width = 40}));
}

TEST_CASE("names are shown whole characters at a time, and steer no terminal") {
  Scene scene = many_hosts(1, 1);
  scene.plan.experiment.name = "実験\x1b[31m";
  CHECK(text_of(scene).find("実験\\x1b[31m: 1 rank on 1 host, 1 slot\n") == 0);
  for (int i = 0; i < 100; ++i) scene.plan.experiment.name += "験";
  const std::string text = text_of(scene);
  CHECK(widest_line(text) <= 80);
  CHECK_FALSE(find_text_fault(text));
  scene.plan.warnings = {{{"hosts.yaml", 3, 0, {}}, {}, "a\x1b]0;title\x07 b", "c"}};
  CHECK(contains(text_of(scene), "warning: hosts.yaml:3: a\\x1b]0;title\\x07 b; c\n"));
}

TEST_CASE("control sequences come only with colour, and change nothing else") {
  Scene scene = scene_of(slot_experiment(3), gpu_inventory({2, 4, 8, 8}));
  scene.occupancy = {use_of("n3", "alice", {1, 2})};
  const std::string plain = text_of(scene);
  CHECK(plain.find('\x1b') == std::string::npos);
  std::string colored = text_of(scene, {.color = true});
  CHECK(colored.find("\x1b[1mdigits:") == 0);
  for (std::size_t begin = colored.find('\x1b'); begin != colored.npos;
       begin = colored.find('\x1b'))
    colored.erase(begin, colored.find('m', begin) + 1 - begin);
  CHECK(colored == plain);
}

TEST_CASE("how many trials run at once is said, with the reason") {
  using Limit = TrialCounts::Limit;
  Scene scene = many_hosts(2, 4);
  CHECK(trials_line(scene.plan).empty());
  scene.plan.trials = TrialCounts{.trials = 12, .fit = 6, .at_once = 4, .limit = Limit::max_slots};
  CHECK(contains(text_of(scene),
                 "trials: 4 of 12 at once (max_slots; 6 would fit); shown is the first\n"));
  scene.plan.trials->limit = Limit::max_concurrent_trials;
  CHECK(trials_line(scene.plan).find("(max_concurrent_trials; 6 would fit)") != std::string::npos);
  scene.plan.trials = TrialCounts{.trials = {}, .fit = 3, .is_at_least = true, .at_once = 3};
  CHECK(trials_line(scene.plan) ==
        "at least 3 at once, as many as fit these hosts; shown is the first");
  scene.plan.trials = TrialCounts{.trials = 2, .fit = 9, .at_once = 2, .limit = Limit::trials};
  CHECK(trials_line(scene.plan) == "2 of 2 at once (all of them; 9 would fit); shown is the first");
}

TEST_CASE("where checkpoints go and how often a trial is restarted is said, and who says so") {
  Scene scene = many_hosts(2, 4);
  CHECK(checkpoints_line(scene.plan).empty());
  CHECK(restarts_line(scene.plan).empty());
  ExperimentConfig& experiment = scene.plan.experiment;
  experiment.checkpoints = {"/mnt/models", R"({"type": "shared_fs"})"};
  experiment.max_restarts = 5;
  CHECK(contains(text_of(scene), "checkpoints: /mnt/models/TASK/0\n"));
  CHECK(restarts_line(scene.plan) ==
        "up to 5 after failures (Determined's default for a file with checkpoint_storage; "
        "max_restarts changes it)");
  experiment.written.keys["max_restarts"].push_back({"max_restarts"});
  CHECK(contains(text_of(scene), "restarts: up to 5 after failures\n"));
  experiment.checkpoints.directory.clear();
  CHECK(checkpoints_line(scene.plan) == "where TRAIN_CHECKPOINT_STORAGE says");
}

TEST_CASE("TPU slices are named with their hosts, and their devices are no GPUs") {
  Scene scene = many_hosts(12, 4);
  for (int i = 0; i < 6; ++i)
    scene.plan.trial.slices.push_back(
        {.name = "s" + std::to_string(i), .hosts = {2 * i, 2 * i + 1}});
  for (PlannedHost& host : scene.plan.trial.hosts) host.host.accelerator_type = "TPU-V5P";
  const std::string text = text_of(scene);
  CHECK(contains(
      text, "slices: s0: node[0-1], s1: node[2-3], s2: node[4-5], s3: node[6-7], and 2 more\n"));
  CHECK(contains(text, "LOCAL  DEVICES  BATCH\n"));
}
