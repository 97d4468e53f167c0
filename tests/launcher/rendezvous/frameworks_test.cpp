// SPDX-License-Identifier: Apache-2.0
// What the ranks of each framework find each other by.
#include "launcher/rendezvous/frameworks.hpp"
#include "tests/launcher/rendezvous/values.hpp"

using namespace train;

namespace {

const std::vector<std::string> all_groups{
    "RANK", "WORLD_", "LOCAL_", "GROUP_",  "NODE_", "ROLE_", "MASTER_", "TORCH",     "PET_",
    "JAX_", "TF_",    "CROSS_", "HOROVOD", "OMPI_", "PMI_",  "TPU_",    "MEGASCALE_"};

Values groups_of(Framework framework, const HostInventory& hosts, int workers, int rank,
                 Processes processes = Processes::per_rank) {
  ExperimentConfig experiment = slot_experiment(workers);
  experiment.framework = framework;
  experiment.processes = processes;
  experiment.allow_heterogeneous = true;
  return with_prefix(values_of(planned(experiment, hosts), rank), all_groups);
}

const Values torch_rank_3_of_4{{"GROUP_RANK", "1"},
                               {"GROUP_WORLD_SIZE", "2"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "<rendezvous_address>"},
                               {"MASTER_PORT", "<rendezvous_port>"},
                               {"NODE_RANK", "1"},
                               {"RANK", "3"},
                               {"ROLE_NAME", "default"},
                               {"ROLE_RANK", "3"},
                               {"ROLE_WORLD_SIZE", "4"},
                               {"TORCHELASTIC_ERROR_FILE", "<error_file>"},
                               {"TORCHELASTIC_MAX_RESTARTS", "0"},
                               {"TORCHELASTIC_RESTART_COUNT", "0"},
                               {"TORCHELASTIC_RUN_ID", "<task_id>"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                               {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                               {"WORLD_SIZE", "4"}};

}  // namespace

TEST_CASE("each framework's rank gets its own variables and none of another's") {
  Values deepspeed = torch_rank_3_of_4;
  deepspeed.insert({{"CROSS_RANK", "1"}, {"CROSS_SIZE", "2"}, {"LOCAL_SIZE", "2"}});
  const std::vector<std::pair<Framework, Values>> rows{
      {Framework::torch, torch_rank_3_of_4},
      {Framework::deepspeed, deepspeed},
      {Framework::jax,
       {{"JAX_COORDINATOR_ADDRESS", "<rendezvous_endpoint>"},
        {"JAX_LOCAL_DEVICE_IDS", "1"},
        {"JAX_NUM_PROCESSES", "4"},
        {"JAX_PROCESS_ID", "3"}}},
      {Framework::tensorflow, {{"TF_CONFIG", "<tensorflow_cluster>"}}},
      {Framework::horovod,
       {{"HOROVOD_CONTROLLER", "gloo"},
        {"HOROVOD_CPU_OPERATIONS", "gloo"},
        {"HOROVOD_CROSS_RANK", "1"},
        {"HOROVOD_CROSS_SIZE", "2"},
        {"HOROVOD_GLOO_IFACE", "<network_interface>"},
        {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "<rendezvous_address>"},
        {"HOROVOD_GLOO_RENDEZVOUS_PORT", "<rendezvous_port>"},
        {"HOROVOD_HOSTNAME", "n2"},
        {"HOROVOD_LOCAL_RANK", "1"},
        {"HOROVOD_LOCAL_SIZE", "2"},
        {"HOROVOD_RANK", "3"},
        {"HOROVOD_SIZE", "4"}}},
      {Framework::mpi,
       {{"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
        {"OMPI_COMM_WORLD_NODE_RANK", "1"},
        {"OMPI_COMM_WORLD_RANK", "3"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"PMI_RANK", "3"},
        {"PMI_SIZE", "4"}}},
      {Framework::none, {}},
  };
  for (const auto& [framework, expected] : rows) {
    CAPTURE(to_string(framework));
    CHECK(groups_of(framework, gpu_inventory({2, 2}), 4, 3) == expected);
  }
}

TEST_CASE("on one host ranks meet on loopback") {
  for (const auto& [framework, name] : std::vector<std::pair<Framework, std::string>>{
           {Framework::torch, "MASTER_ADDR"},
           {Framework::deepspeed, "MASTER_ADDR"},
           {Framework::horovod, "HOROVOD_GLOO_RENDEZVOUS_ADDR"}})
    CHECK(value(groups_of(framework, gpu_inventory({2}), 2, 1), name) == "127.0.0.1");
  CHECK(value(groups_of(Framework::torch, gpu_inventory({2}), 2, 0, Processes::per_host),
              "PET_MASTER_ADDR") == "127.0.0.1");
}

TEST_CASE("a process per host gets torchrun's arguments, or is the one worker there") {
  const Values torchrun{{"PET_MASTER_ADDR", "<rendezvous_host>"},
                        {"PET_MASTER_PORT", "<rendezvous_port>"},
                        {"PET_NNODES", "2"},
                        {"PET_NODE_RANK", "1"},
                        {"PET_NPROC_PER_NODE", "2"},
                        {"TORCHELASTIC_ERROR_FILE", "<error_file>"},
                        {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}};
  Values deepspeed = torchrun;
  deepspeed.insert({{"CROSS_RANK", "1"}, {"CROSS_SIZE", "2"}, {"LOCAL_SIZE", "2"}});
  const std::vector<std::pair<Framework, Values>> rows{
      {Framework::torch, torchrun},
      {Framework::deepspeed, deepspeed},
      {Framework::jax,
       {{"JAX_COORDINATOR_ADDRESS", "<rendezvous_endpoint>"},
        {"JAX_LOCAL_DEVICE_IDS", "0,1"},
        {"JAX_NUM_PROCESSES", "2"},
        {"JAX_PROCESS_ID", "1"}}},
      {Framework::tensorflow, {{"TF_CONFIG", "<tensorflow_cluster>"}}},
      {Framework::none, {}},
  };
  for (const auto& [framework, expected] : rows) {
    CAPTURE(to_string(framework));
    CHECK(groups_of(framework, gpu_inventory({2, 2}), 4, 1, Processes::per_host) == expected);
  }
}

TEST_CASE("torchrun and its workers see all devices, and one worker's batch and threads") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.processes = Processes::per_host;
  experiment.global_batch_size = 64;
  experiment.needs.cpus = Quantity::of(3);
  const Plan plan = planned(experiment, gpu_inventory({2, 2}));
  const Values values = values_of(plan, 1);
  CHECK(value(values, "CUDA_VISIBLE_DEVICES") == "0,1");
  CHECK(value(values, "TRAIN_BATCH_SIZE") == "16");
  CHECK(value(values, "TRAIN_BATCH_OFFSET") == "(unset)");
  CHECK(value(values, "OMP_NUM_THREADS") == "3");
}

TEST_CASE("a jax or TensorFlow process of a host takes the whole share of its host") {
  const auto framework = GENERATE(Framework::jax, Framework::tensorflow);
  ExperimentConfig experiment = slot_experiment(4);
  experiment.processes = Processes::per_host;
  experiment.framework = framework;
  experiment.global_batch_size = 66;
  experiment.batch_remainder = BatchRemainder::spread;
  experiment.needs.cpus = Quantity::of(3);
  const Plan plan = planned(experiment, gpu_inventory({2, 2}));
  CHECK(plan.warnings.empty());
  const Values values = values_of(plan, 1);
  CHECK(value(values, "CUDA_VISIBLE_DEVICES") == "0,1");
  CHECK(value(values, "TRAIN_BATCH_SIZE") == "32");
  CHECK(value(values, "TRAIN_BATCH_OFFSET") == "34");
  CHECK(value(values, "OMP_NUM_THREADS") == "6");
}

TEST_CASE("DeepSpeed counts hosts, Horovod the hosts that have the local rank") {
  // The hosts of two, one and three ranks are all needed, and used wholly.
  struct Row {
    int rank;
    std::string deepspeed_rank, horovod_rank, horovod_size, local_size;
  };
  const std::vector<Row> rows{
      {0, "0", "0", "3", "2"}, {1, "0", "0", "2", "2"}, {2, "1", "1", "3", "1"},
      {3, "2", "2", "3", "3"}, {4, "2", "1", "2", "3"}, {5, "2", "0", "1", "3"},
  };
  const HostInventory hosts = gpu_inventory({2, 1, 3});
  for (const Row& row : rows) {
    CAPTURE(row.rank);
    const Values deepspeed = groups_of(Framework::deepspeed, hosts, 6, row.rank);
    CHECK(value(deepspeed, "CROSS_RANK") == row.deepspeed_rank);
    CHECK(value(deepspeed, "CROSS_SIZE") == "3");
    CHECK(value(deepspeed, "LOCAL_SIZE") == row.local_size);
    const Values horovod = groups_of(Framework::horovod, hosts, 6, row.rank);
    CHECK(value(horovod, "HOROVOD_CROSS_RANK") == row.horovod_rank);
    CHECK(value(horovod, "HOROVOD_CROSS_SIZE") == row.horovod_size);
    CHECK(value(horovod, "HOROVOD_LOCAL_SIZE") == row.local_size);
  }
}

TEST_CASE("fusion is tuned by Horovod alone") {
  const auto autotune = [](Framework framework, bool wanted) {
    ExperimentConfig experiment = slot_experiment(2);
    experiment.framework = framework;
    experiment.auto_tune_tensor_fusion = wanted;
    return value(values_of(planned(experiment, gpu_inventory({2})), 0), "HOROVOD_AUTOTUNE");
  };
  CHECK(autotune(Framework::horovod, true) == "1");
  CHECK(autotune(Framework::horovod, false) == "(unset)");
  CHECK(autotune(Framework::torch, true) == "(unset)");
}

TEST_CASE("Horovod's interface is named like the others") {
  HostInventory hosts = gpu_inventory({1, 1});
  for (Host& host : hosts.hosts) host.interface = "ib0";
  CHECK(value(groups_of(Framework::horovod, hosts, 2, 1), "HOROVOD_GLOO_IFACE") == "ib0");
  CHECK(value(groups_of(Framework::torch, hosts, 2, 1), "HOROVOD_GLOO_IFACE") == "(unset)");
  CHECK(value(groups_of(Framework::horovod, hosts, 1, 0), "HOROVOD_GLOO_IFACE") == "(unset)");
}

TEST_CASE("TensorFlow's workers see the devices of their own alone, unless told otherwise") {
  ExperimentConfig experiment = slot_experiment(2);
  experiment.framework = Framework::tensorflow;
  const auto list = [&] {
    return value(values_of(planned(experiment, gpu_inventory({2})), 1), "CUDA_VISIBLE_DEVICES");
  };
  CHECK(list() == "1");
  experiment.visible_devices = VisibleDevices::shared;
  CHECK(list() == "0,1");
}

TEST_CASE("TensorFlow's workers with different numbers of GPUs are warned of") {
  const auto warnings = [](Framework framework, const std::vector<int>& sizes, int workers) {
    ExperimentConfig experiment = slot_experiment(workers);
    experiment.framework = framework;
    experiment.processes = Processes::per_host;
    experiment.allow_heterogeneous = true;
    return warnings_of(planned(experiment, gpu_inventory(sizes)));
  };
  CHECK(warnings(Framework::tensorflow, {2, 2, 3}, 7) ==
        std::vector<std::string>{"TensorFlow takes all workers to have as many GPUs: that of n1 "
                                 "has 2, that of n3 has 3"});
  CHECK(warnings(Framework::tensorflow, {2, 2}, 4).empty());
  CHECK(warnings(Framework::jax, {2, 3}, 5).empty());
}

TEST_CASE("TF_CONFIG names every worker, and which of them this is") {
  CHECK(tensorflow_config({"10.0.0.1:4001", "10.0.0.2:4002"}, 1) ==
        R"({"cluster":{"worker":["10.0.0.1:4001","10.0.0.2:4002"]},)"
        R"("task":{"type":"worker","index":1}})");
  CHECK(tensorflow_config({"[fd00::1]:4001"}, 0) ==
        R"({"cluster":{"worker":["[fd00::1]:4001"]},"task":{"type":"worker","index":0}})");
}

TEST_CASE("the size of a TF_CONFIG is known without making one") {
  for (const int workers : {0, 1, 2, 10, 11, 1'000}) {
    CAPTURE(workers);
    const std::vector<std::string> endpoints(workers, "[fd00::1]:65535");
    CHECK(tensorflow_config_size(endpoints) ==
          std::string("TF_CONFIG=").size() +
              tensorflow_config(endpoints, std::max(0, workers - 1)).size());
  }
}
