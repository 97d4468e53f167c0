// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/port_needs.hpp"
#include "tests/launcher/rendezvous/values.hpp"

using namespace train;

namespace {

Host tpu_host(const std::string& name, int chips, const std::string& type = "TPU-V4") {
  Host host = gpu_host(name, chips);
  host.address = name + ".example";
  host.accelerator_type = type;
  return host;
}

ExperimentConfig tpu_experiment(int workers, int chips) {
  ExperimentConfig experiment = gpu_experiment(workers, chips);
  experiment.needs.gpus_named = false;
  experiment.needs.tpus_named = true;
  return experiment;
}

// Slices of these hosts each, all of them used wholly.
Plan slices_of(const std::vector<std::vector<std::string>>& names) {
  std::vector<Host> hosts;
  for (const auto& slice : names)
    for (const std::string& name : slice) hosts.push_back(tpu_host(name, 4));
  ExperimentConfig experiment = tpu_experiment(static_cast<int>(hosts.size()), 4);
  experiment.framework = Framework::jax;
  Plan plan = planned(experiment, inventory_of(std::move(hosts)));
  int next = 0;
  for (const auto& slice : names) {
    PlannedSlice& planned = plan.trial.slices.emplace_back();
    for (int worker = 0; worker < static_cast<int>(slice.size()); ++worker) {
      plan.trial.hosts[next].slice = static_cast<int>(plan.trial.slices.size()) - 1;
      plan.trial.hosts[next].slice_worker = worker;
      planned.hosts.push_back(next++);
    }
  }
  return plan;
}

const std::vector<std::string> of_tpus{"TPU_", "MEGASCALE_", "CUDA_", "ROCR_", "JAX_LOCAL"};

}  // namespace

TEST_CASE("a worker with fewer chips than its host is told which, and how they lie") {
  struct Row {
    int chips, of_host, rank;
    Values expected;
  };
  const std::vector<Row> rows{
      {1,
       4,
       1,
       {{"TPU_VISIBLE_CHIPS", "1"},
        {"TPU_CHIPS_PER_HOST_BOUNDS", "1,1,1"},
        {"TPU_HOST_BOUNDS", "1,1,1"}}},
      {2,
       4,
       1,
       {{"TPU_VISIBLE_CHIPS", "2,3"},
        {"TPU_CHIPS_PER_HOST_BOUNDS", "1,2,1"},
        {"TPU_HOST_BOUNDS", "1,1,1"}}},
      {4, 8, 1, {{"TPU_VISIBLE_CHIPS", "4,5,6,7"}}},
      {4, 4, 0, {}},
      {8, 8, 0, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.chips, row.of_host);
    const Plan plan = planned(tpu_experiment(row.of_host / row.chips, row.chips),
                              inventory_of({tpu_host("t1", row.of_host)}));
    CHECK(with_prefix(values_of(plan, row.rank), of_tpus) == row.expected);
  }
}

TEST_CASE("a TPU host is known by its type, in any case, and gets no list of GPUs") {
  for (const char* type : {"TPU-V4", "tpu-v6e", "Tpu-v5litepod", "TPU", "v5p"}) {
    CAPTURE(type);
    const Plan plan = planned(tpu_experiment(1, 2), inventory_of({tpu_host("t1", 2, type)}));
    const Values values = values_of(plan, 0);
    CHECK(with_prefix(values, of_tpus) == Values{});
    CHECK(value(values, "TRAIN_DEVICE_INDICES") == "0,1");
    CHECK(value(values, "TRAIN_BACKEND") == "gloo");
  }
  const Plan cpus = planned(cpu_experiment(1, 1), inventory_of({tpu_host("t1", 4)}));
  CHECK(with_prefix(values_of(cpus, 0), of_tpus) == Values{});
  const Plan gpus = planned(gpu_experiment(1, 2), inventory_of({tpu_host("t1", 2, "T4")}));
  CHECK(value(values_of(gpus, 0), "CUDA_VISIBLE_DEVICES") == "0,1");
}

TEST_CASE("hosts of one slice know their place in it and nothing of MEGASCALE") {
  const Plan plan = slices_of({{"a0", "a1"}});
  CHECK(with_prefix(values_of(plan, 1), of_tpus) ==
        Values{{"TPU_WORKER_ID", "1"}, {"TPU_WORKER_HOSTNAMES", "a0.example,a1.example"}});
  CHECK(port_needs(plan).megascale_host == -1);
}

TEST_CASE("slice workers are numbered by their slice, not by the order of hosts") {
  Plan plan = slices_of({{"a0", "a1", "a2"}});
  plan.trial.slices[0].hosts = {2, 0, 1};
  plan.trial.hosts[2].slice_worker = 0;
  plan.trial.hosts[0].slice_worker = 1;
  plan.trial.hosts[1].slice_worker = 2;
  const Values values = values_of(plan, 0);
  CHECK(value(values, "TPU_WORKER_ID") == "1");
  CHECK(value(values, "TPU_WORKER_HOSTNAMES") == "a2.example,a0.example,a1.example");
}

TEST_CASE("several slices find each other through the first host of the first") {
  const Plan plan = slices_of({{"a0", "a1"}, {"b0", "b1"}});
  CHECK(with_prefix(values_of(plan, 2), of_tpus) ==
        Values{{"MEGASCALE_COORDINATOR_ADDRESS", "<megascale_address>"},
               {"MEGASCALE_NUM_SLICES", "2"},
               {"MEGASCALE_PORT", "<megascale_port>"},
               {"MEGASCALE_SLICE_ID", "1"},
               {"TPU_WORKER_HOSTNAMES", "b0.example,b1.example"},
               {"TPU_WORKER_ID", "0"}});
  CHECK(value(values_of(plan, 1), "MEGASCALE_SLICE_ID") == "0");
  CHECK(port_needs(plan) == PortNeeds{.rendezvous = true, .megascale_host = 0, .workers = false});
}

TEST_CASE("a TPU host that is on no slice is told of none") {
  const Plan plan = planned(tpu_experiment(1, 4), inventory_of({tpu_host("t1", 4)}));
  CHECK(value(values_of(plan, 0), "TPU_WORKER_ID") == "(unset)");
}
