// SPDX-License-Identifier: Apache-2.0
// A change that a refusal names is options of the command line: what is pasted makes it fit.
#include "launcher/placement/changes.hpp"

#include "config_schema/text/shell_words.hpp"
#include "config_schema/yaml/yaml_document.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

struct Row {
  std::string yaml;
  std::string hosts;
  std::string options;              // one of the changes that are named
  ExperimentOverrides before = {};  // what is on the command line already
};

// The options as a shell gives them to the program, after those that are there.
ExperimentOverrides pasted(const std::string& options, ExperimentOverrides overrides) {
  const auto commands = shell_commands(options);
  REQUIRE(commands.size() == 1);
  const std::vector<ShellWord>& words = commands.front();
  REQUIRE(words.size() % 2 == 0);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (words[i].text == "-n") {
      overrides.slots = std::stoi(words[i + 1].text);
    } else {
      REQUIRE(words[i].text == "--set");
      overrides.settings.push_back(words[i + 1].text);
    }
  }
  return overrides;
}

ExperimentConfig read(const std::string& yaml, const ExperimentOverrides& overrides) {
  const auto experiment = parse_experiment({"x.yaml", "entrypoint: a\n" + yaml + "\n"}, overrides);
  INFO(yaml);
  INFO((experiment ? std::string() : render(experiment.error())));
  REQUIRE(experiment);
  return *experiment;
}

void check(const Row& row) {
  CAPTURE(row.yaml, row.options);
  const auto inventory = parse_hosts({"hosts", row.hosts});
  INFO((inventory ? std::string() : render(inventory.error())));
  REQUIRE(inventory);
  const auto plan = make_plan(read(row.yaml, row.before), *inventory);
  REQUIRE_FALSE(plan);
  INFO(render(to_error(plan.error())));
  std::vector<std::string> named;
  for (const Change& change : plan.error().changes) {
    CAPTURE(change.options);
    named.push_back(change.options);
    const auto now = make_plan(read(row.yaml, pasted(change.options, row.before)), *inventory);
    INFO((now ? std::string() : render(to_error(now.error()))));
    CHECK(now);
  }
  CHECK(std::find(named.begin(), named.end(), row.options) != named.end());
}

constexpr const char* eight_cpus = "hosts: [{name: n1, resources: {CPU: 8}}]";
constexpr const char* mixed_sizes =
    "hosts: [{name: n1, slots: 2}, {name: n2, slots: 1}, {name: n3, slots: 1}]";

}  // namespace

TEST_CASE("what a worker takes is named whole") {
  check({"resources: {num_workers: 4, resources_per_worker: {CPU: 4, GPU: 0.5}}",
         "hosts: [{name: n1, resources: {CPU: 8, GPU: 4}}]",
         "--set 'resources.resources_per_worker={CPU: 2, GPU: 0.5}'"});
  check({"num_workers: 4\nresources_per_worker: {CPU: 4, memory: 1GiB, my tape: 1, it's: 2}",
         "hosts: [{name: n1, slots: 8, resources: {CPU: 8, my tape: 4, it's: 8}}]",
         "--set 'resources_per_worker={CPU: 2, memory: 1GiB, \"it'\\''s\": 2, \"my tape\": 1}'"});
  check(
      {"scaling_config: {num_workers: 4, use_gpu: true, trainer_resources: {}, "
       "resources_per_worker: {GPU: 2, memory: 1500MiB}}",
       "hosts: [{name: n1, resources: {GPU: 4}}]",
       "--set 'scaling_config.resources_per_worker={GPU: 1, memory: 1500MiB}'"});
  check({"num_workers: 4\nresources_per_worker: {memory: 8GiB, GPU: 1}",
         "hosts: [{name: n1, resources: {GPU: 4, memory: 16GiB}}]",
         "--set 'resources_per_worker={GPU: 1, memory: 4GiB}'"});
  check({"num_workers: 4\nresources_per_worker: {CPU: 1, tape: 1}",
         "hosts: [{name: n1, slots: 4, resources: {tape: 2}}]",
         "--set 'resources_per_worker={CPU: 1, tape: 0.5}'"});
  check({"scaling_config: {num_workers: 4, trainer_resources: {}}",
         "hosts: [{name: n1, resources: {CPU: 2}}]",
         "--set 'resources.resources_per_worker={CPU: 0.5}'"});
  check({"slots_per_trial: 4", "hosts: [{name: n1, resources: {CPU: 2}}]",
         "--set 'resources.resources_per_worker={CPU: 0.5}'"});
}

TEST_CASE("slots go with the GPUs of a worker where they are counted") {
  const std::string hosts = "hosts: [{name: n1, resources: {GPU: 4}}]";
  check({"slots_per_trial: 8", hosts,
         "--set 'resources.resources_per_worker={GPU: 0.5}' --set slots_per_trial=4"});
  check({"resources: {slots_per_trial: 8}\nslots_per_trial: 8", hosts,
         "--set 'resources.resources_per_worker={GPU: 0.5}' --set resources.slots_per_trial=4"});
  check({"slots_per_trial: 2",
         hosts,
         "--set 'resources.resources_per_worker={GPU: 0.5}' -n 4",
         {.slots = 8}});
  check({"resources_per_worker: {GPU: 8}", hosts, "--set 'resources_per_worker={GPU: 4}'"});
  check({"name: a",
         hosts,
         "--set 'resources.resources_per_worker={GPU: 0.5}' --set slots_per_trial=4",
         {.settings = {"slots_per_trial=8"}}});
}

TEST_CASE("a setting takes the place of one that is on the command line") {
  check({"name: a",
         eight_cpus,
         "--set 'resources_per_worker={CPU: 2}'",
         {.settings = {"num_workers=4", "resources_per_worker={CPU: 4}"}}});
  check({"resources_per_worker: {CPU: 4}",
         eight_cpus,
         "--set 'scaling_config.resources_per_worker={CPU: 2}'",
         {.settings = {"num_workers=4", "scaling_config.resources_per_worker={CPU: 4}",
                       "scaling_config.trainer_resources={}"}}});
  check({"slots_per_trial: 4",
         mixed_sizes,
         "--set placement_strategy=PACK",
         {.settings = {"placement_strategy=STRICT_PACK"}}});
}

TEST_CASE("where ranks may run is named by its key") {
  check({"slots_per_trial: 4", mixed_sizes, "--set resources.allow_heterogeneous=true"});
  check({"slots_per_trial: 4", mixed_sizes, "--set resources.placement=pack"});
  check({"slots_per_trial: 4\nresources: {is_single_node: true, placement: pack}", mixed_sizes,
         "--set resources.is_single_node=false"});
  check({"num_workers: 4\nresources: {placement: strict_spread}\nresources_per_worker: {GPU: 1}",
         mixed_sizes, "--set resources.placement=spread"});
  check({"scaling_config: {num_workers: 4, placement_strategy: STRICT_SPREAD}", mixed_sizes,
         "--set scaling_config.placement_strategy=SPREAD"});
  check({"scaling_config: {num_workers: 4, resources_per_worker: {CPU: 2}}", eight_cpus,
         "--set 'scaling_config.trainer_resources={CPU: 0}'"});
  check(
      {"scaling_config: {num_workers: 3, resources_per_worker: {CPU: 2}, trainer_resources: "
       "{CPU: 4}}",
       eight_cpus, "--set 'scaling_config.trainer_resources={CPU: 0}'"});
}

TEST_CASE("names of hosts files are quoted for YAML and for the shell") {
  const auto hosts = [](const std::string& property) {
    return "hosts: [{name: n1, slots: 2, resources: {GPU: 2}, " + property +
           "}, {name: n2, pool: other, accelerator_type: T4, resources: {GPU: 1}}]";
  };
  const std::string two = "resources: {slots_per_trial: 2, ";
  check({two + "resource_pool: none}", hosts("pool: west"), "--set resources.resource_pool=west"});
  check({two + "resource_pool: none}", hosts("pool: '12'"),
         "--set 'resources.resource_pool=\"12\"'"});
  check({two + "resource_pool: none}", hosts("pool: 'true'"),
         "--set 'resources.resource_pool=\"true\"'"});
  check({"num_workers: 2\nuse_gpu: true\naccelerator_type: H100", hosts("accelerator_type: A100"),
         "--set accelerator_type=A100"});
  check({"scaling_config: {num_workers: 2, use_gpu: true, accelerator_type: H100}",
         hosts("accelerator_type: GeForce-RTX-4090"),
         "--set scaling_config.accelerator_type=GeForce-RTX-4090"});
}

TEST_CASE("a text is a YAML value of the same text") {
  for (const std::string text : {"A100", "west", "12", "true", "~", "", "it's {west}, [a] #b", "-",
                                 "a: b", "1e3", "...", "null", "AMD-Instinct-MI300X"}) {
    const auto root = read_yaml({"x.yaml", "a: [" + yaml_string(text) + "]"}, ErrorClass::config);
    REQUIRE(root);
    const YamlNodePtr& item = (*root)->find("a")->value->items.at(0);
    CHECK(item->kind == YamlKind::string);
    CHECK(item->text == text);
  }
  CHECK(yaml_string("A100") == "A100");
}

TEST_CASE("labels that are taken away are taken away everywhere") {
  const std::string hosts = "hosts: [{name: n1, slots: 2, labels: {zone: a}}]";
  check({"num_workers: 2\nlabel_selector: {zone: b}", hosts, "--set label_selector=null"});
  check({"scaling_config: {num_workers: 2, label_selector: {zone: b}}\nlabel_selector: {zone: b}",
         hosts, "--set label_selector=null --set scaling_config.label_selector=null"});
}

TEST_CASE("no change is named that the backend forbids") {
  const auto experiment = read("backend: nccl\nslots_per_trial: 2\naccelerator_type: A100", {});
  const auto inventory = parse_hosts(
      {"hosts", "hosts: [{name: n1, accelerator_type: Intel-GPU-Max-1550, resources: {GPU: 2}}]"});
  REQUIRE(inventory);
  const auto plan = make_plan(experiment, *inventory);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().changes.empty());
}
