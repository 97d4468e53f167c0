// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/rank_environment.hpp"

#include <algorithm>

#include "tests/launcher/rendezvous/values.hpp"

using namespace train;

TEST_CASE("a torch rank gets torchrun's environment, and nothing else is there") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.global_batch_size = 64;
  experiment.aggregation_frequency = 2;
  experiment.hyperparameters_json = R"({"lr":0.1})";
  const Plan plan = planned(experiment, gpu_inventory({2, 2}));
  const Values expected{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                        {"CUDA_VISIBLE_DEVICES", "0,1"},
                        {"GLOO_SOCKET_IFNAME", "<network_interface>"},
                        {"GROUP_RANK", "1"},
                        {"GROUP_WORLD_SIZE", "2"},
                        {"LOCAL_RANK", "1"},
                        {"LOCAL_WORLD_SIZE", "2"},
                        {"MASTER_ADDR", "<rendezvous_address>"},
                        {"MASTER_PORT", "<rendezvous_port>"},
                        {"NCCL_SOCKET_IFNAME", "<nccl_interface>"},
                        {"NODE_RANK", "1"},
                        {"OMP_NUM_THREADS", "1"},
                        {"PYTHONFAULTHANDLER", "1"},
                        {"PYTHONUNBUFFERED", "1"},
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
                        {"TRAIN_AGGREGATION_FREQUENCY", "2"},
                        {"TRAIN_AUTO_TUNE_TENSOR_FUSION", "0"},
                        {"TRAIN_AVERAGE_TRAINING_METRICS", "0"},
                        {"TRAIN_BACKEND", "nccl"},
                        {"TRAIN_BATCH_OFFSET", "48"},
                        {"TRAIN_BATCH_SIZE", "16"},
                        {"TRAIN_DATA", "{}"},
                        {"TRAIN_DEVICE_INDICES", "1"},
                        {"TRAIN_EFFECTIVE_BATCH_SIZE", "128"},
                        {"TRAIN_GLOBAL_BATCH_SIZE", "64"},
                        {"TRAIN_GRADIENT_COMPRESSION", "0"},
                        {"TRAIN_HEARTBEAT_FILE", "<heartbeat_file>"},
                        {"TRAIN_HPARAMS", R"({"lr":0.1})"},
                        {"TRAIN_HPARAM_LR", "0.1"},
                        {"TRAIN_METRICS_FILE", "<metrics_file>"},
                        {"TRAIN_PER_SLOT_BATCH_SIZE", "16"},
                        {"TRAIN_RESTART_COUNT", "0"},
                        {"TRAIN_RUN_DIR", "<run_directory>"},
                        {"TRAIN_STOP_FILE", "<stop_file>"},
                        {"TRAIN_TASK_ID", "<task_id>"},
                        {"TRAIN_TRIAL_ID", "0"},
                        {"WORLD_SIZE", "4"}};
  CHECK(values_of(plan, 3) == expected);
}

TEST_CASE("each hyperparameter has a variable, but where two would have one name") {
  ExperimentConfig experiment = slot_experiment(1);
  experiment.hyperparameters_json =
      R"({"a b": "x y", "deep": {"er": {"n": 3}}, "flag": true, "list": [1, "two"],
          "lr": 1e-05, "none": null, "nul": "a\u0000b", "twin": 1, "TWIN": 2, "x": {"y": 1},
          "x_y": 2})";
  std::map<std::string, std::string> found;
  for (const auto& [name, text] : values_of(planned(experiment, gpu_inventory({1})), 0))
    if (name.starts_with("TRAIN_HPARAM_")) found[name] = text;
  CHECK(found == std::map<std::string, std::string>{{"TRAIN_HPARAM_A_B", "x y"},
                                                    {"TRAIN_HPARAM_DEEP_ER_N", "3"},
                                                    {"TRAIN_HPARAM_FLAG", "true"},
                                                    {"TRAIN_HPARAM_LIST", "[1,\"two\"]"},
                                                    {"TRAIN_HPARAM_LR", "1e-05"}});
}

TEST_CASE("on one host the master is loopback") {
  const Plan plan = planned(slot_experiment(2), gpu_inventory({2}));
  CHECK(value(values_of(plan, 0), "MASTER_ADDR") == "127.0.0.1");
  CHECK(value(values_of(plan, 0), "MASTER_PORT") == "<rendezvous_port>");
}

TEST_CASE("a batch size that the workers of a host do not share is not set") {
  ExperimentConfig experiment = slot_experiment(2);
  experiment.processes = Processes::per_host;
  experiment.global_batch_size = 63;
  experiment.batch_remainder = BatchRemainder::spread;
  const Plan plan = planned(experiment, gpu_inventory({2}));
  CHECK(value(values_of(plan, 0), "TRAIN_BATCH_SIZE") == "(unset)");
  REQUIRE(plan.warnings.size() == 1);
  CHECK(plan.warnings[0].message.find("TRAIN_BATCH_SIZE is not set there") != std::string::npos);
}

TEST_CASE("devices are shared or a rank's own") {
  struct Case {
    const char* what;
    int workers;
    double gpus;
    VisibleDevices visible;
    int rank;
    std::string list, indices;
  };
  const std::vector<Case> cases{
      {"one each", 2, 1, VisibleDevices::automatic, 1, "0,1", "1"},
      {"one each, own", 2, 1, VisibleDevices::per_rank, 1, "1", "0"},
      {"two each", 2, 2, VisibleDevices::automatic, 1, "2,3", "0,1"},
      {"two each, shared", 2, 2, VisibleDevices::shared, 1, "0,1,2,3", "2,3"},
      {"halves", 3, 0.5, VisibleDevices::automatic, 2, "1", "0"},
      {"halves, shared", 3, 0.5, VisibleDevices::shared, 2, "0,1", "1"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.what);
    ExperimentConfig experiment = gpu_experiment(each.workers, each.gpus);
    experiment.visible_devices = each.visible;
    const Values values = values_of(planned(experiment, gpu_inventory({4})), each.rank);
    CHECK(value(values, "CUDA_VISIBLE_DEVICES") == each.list);
    CHECK(value(values, "TRAIN_DEVICE_INDICES") == each.indices);
    CHECK(value(values, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID");
  }
}

TEST_CASE("what only the host can say of its slots is known at launch") {
  const Host host = place_host("n1", 4);
  const std::vector<std::string> lists{"CUDA_", "ROCR_", "TRAIN_DEVICE", "TRAIN_BACKEND", "JAX_L"};
  const auto devices = [&](const ExperimentConfig& experiment) {
    return with_prefix(values_of(planned(experiment, inventory_of({host})), 1), lists);
  };
  Values expected{{"CUDA_VISIBLE_DEVICES", "<cuda_devices>"},
                  {"ROCR_VISIBLE_DEVICES", "<rocm_devices>"},
                  {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                  {"TRAIN_DEVICE_INDICES", "<device_positions>"},
                  {"TRAIN_BACKEND", "<backend>"}};
  CHECK(devices(slot_experiment(2)) == expected);
  ExperimentConfig of_jax = slot_experiment(2);
  of_jax.framework = Framework::jax;
  expected["JAX_LOCAL_DEVICE_IDS"] = "<device_positions>";
  CHECK(devices(of_jax) == expected);
  expected.erase("JAX_LOCAL_DEVICE_IDS");
  // GPUs by name are GPUs, of whichever maker.
  expected["TRAIN_DEVICE_INDICES"] = "1";
  expected["TRAIN_BACKEND"] = "nccl";
  CHECK(devices(gpu_experiment(2, 1)) == expected);
  expected["TRAIN_DEVICE_INDICES"] = "0";
  expected["TRAIN_BACKEND"] = "gloo";
  CHECK(devices(gpu_experiment(2, 0.5)) == expected);
}

TEST_CASE("slots that are made devices of are the host's, or the rank's own") {
  const auto made_of = [](VisibleDevices visible) {
    ExperimentConfig experiment = slot_experiment(2);
    experiment.visible_devices = visible;
    const Plan plan = planned(experiment, inventory_of({place_host("n1", 4)}));
    std::string text;
    for (const EnvironmentEntry& entry : environment_of(plan, 1))
      if (entry.at_launch == AtLaunch::cuda_devices ||
          entry.at_launch == AtLaunch::device_positions)
        text += entry.name + "=" + entry.text + " ";
    return text;
  };
  CHECK(made_of(VisibleDevices::automatic) == "CUDA_VISIBLE_DEVICES=0,1 TRAIN_DEVICE_INDICES=1 ");
  CHECK(made_of(VisibleDevices::per_rank) == "CUDA_VISIBLE_DEVICES=1 TRAIN_DEVICE_INDICES=0 ");
}

TEST_CASE("devices come from declared indices, or are known at launch") {
  struct Case {
    const char* what;
    ExperimentConfig experiment;
    Host host;
    std::string list;
  };
  Host amd = gpu_host("n1", 2);
  amd.accelerator_type = "AMD-Instinct-MI300X";
  const auto with_type = [](Host host, SlotType type) {
    host.slot_type = type;
    settle_accelerators(host);
    return host;
  };
  const Host cuda = with_type(place_host("n1", 2), SlotType::cuda);
  const Host plain_cuda = with_type(plain_host("n1"), SlotType::cuda);
  const Host rocm = with_type(place_host("n1", 2), SlotType::rocm);
  const Host cpu = with_type(place_host("n1", 2), SlotType::cpu);
  const std::vector<Case> cases{
      {"no GPU asked for", cpu_experiment(1, 1), gpu_host("n1", 2), ""},
      {"CPUs as slots", slot_experiment(1), cpu_host("n1", 2), ""},
      {"places or GPUs", slot_experiment(2), place_host("n1", 2), "<cuda_devices>"},
      {"GPUs by name", gpu_experiment(2, 1), place_host("n1", 2), "<cuda_devices>"},
      {"GPU of a plain host", gpu_experiment(1, 1), plain_host("n1"), "<cuda_devices>"},
      {"slot_type: cuda", slot_experiment(2), cuda, "0,1"},
      {"slot_type: cuda of a plain host", slot_experiment(1), plain_cuda, "0"},
      {"slot_type: rocm", slot_experiment(2), rocm, "(unset)"},
      {"slot_type: cpu", slot_experiment(2), cpu, ""},
      {"AMD", gpu_experiment(2, 1), amd, "(unset)"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.what);
    const Values values = values_of(planned(each.experiment, inventory_of({each.host})), 0);
    CHECK(value(values, "CUDA_VISIBLE_DEVICES") == each.list);
    const bool is_list = each.list != "" && each.list != "(unset)";
    CHECK((value(values, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID") == is_list);
  }
}

TEST_CASE("AMD devices are in a list of their own, and in no other") {
  Host amd = gpu_host("n1", 4);
  amd.accelerator_type = "AMD-Instinct-MI300X";
  const std::vector<std::string> lists{"ROCR_", "HIP_", "CUDA_", "GPU_DEVICE"};
  const auto devices = [&](const ExperimentConfig& experiment) {
    return with_prefix(values_of(planned(experiment, inventory_of({amd})), 1), lists);
  };
  CHECK(devices(gpu_experiment(2, 1)) == Values{{"ROCR_VISIBLE_DEVICES", "0,1"}});
  CHECK(devices(gpu_experiment(2, 2)) == Values{{"ROCR_VISIBLE_DEVICES", "2,3"}});
  CHECK(devices(cpu_experiment(2, 1)) == Values{{"ROCR_VISIBLE_DEVICES", ""}});
}

TEST_CASE("every maker's devices are in its own list") {
  struct Row {
    const char* type;
    const char* variable;
    const char* list;  // of rank 1
    const char* none;  // of a rank without a device
  };
  const Row row = GENERATE(values<Row>({
      {"Intel-GPU-Max-1550", "ONEAPI_DEVICE_SELECTOR", "level_zero:0,1", "(unset)"},
      {"Intel-GAUDI", "HABANA_VISIBLE_MODULES", "0,1", "(unset)"},
      {"aws-neuron-core", "NEURON_RT_VISIBLE_CORES", "1", "(unset)"},
      {"Ascend910B", "ASCEND_RT_VISIBLE_DEVICES", "0,1", "(unset)"},
      {"AMD-Instinct-MI300X", "ROCR_VISIBLE_DEVICES", "0,1", ""},
      {"H100", "CUDA_VISIBLE_DEVICES", "0,1", ""},
  }));
  CAPTURE(row.type);
  Host host = gpu_host("n1", 2);
  host.accelerator_type = row.type;
  const bool is_cuda = std::string_view(row.variable).starts_with("CUDA");
  const bool has_nccl = is_cuda || std::string_view(row.variable).starts_with("ROCR");
  const Values values = values_of(planned(gpu_experiment(2, 1), inventory_of({host})), 1);
  CHECK(value(values, row.variable) == row.list);
  CHECK((value(values, "CUDA_VISIBLE_DEVICES") != "(unset)") == is_cuda);
  CHECK((value(values, "CUDA_DEVICE_ORDER") != "(unset)") == is_cuda);
  CHECK(value(values, "TRAIN_BACKEND") == (has_nccl ? "nccl" : "gloo"));
  CHECK(value(values_of(planned(cpu_experiment(2, 1), inventory_of({host})), 1), row.variable) ==
        row.none);
  ExperimentConfig asked = gpu_experiment(2, 1);
  asked.backend = CollectiveBackend::nccl;
  CHECK(make_plan(asked, inventory_of({host})).has_value() == has_nccl);
}

TEST_CASE("devices are those of the machine that the slots stand for") {
  HostInventory hosts = gpu_inventory({2});
  hosts.hosts[0].device_indices = {5, 3};
  ExperimentConfig experiment = gpu_experiment(2, 1);
  CHECK(value(values_of(planned(experiment, hosts), 1), "CUDA_VISIBLE_DEVICES") == "5,3");
  CHECK(value(values_of(planned(experiment, hosts), 1), "TRAIN_DEVICE_INDICES") == "1");
  experiment.visible_devices = VisibleDevices::per_rank;
  CHECK(value(values_of(planned(experiment, hosts), 1), "CUDA_VISIBLE_DEVICES") == "3");
  CHECK(value(values_of(planned(experiment, hosts), 1), "TRAIN_DEVICE_INDICES") == "0");
}

TEST_CASE("the backend is nccl when every rank has GPUs of its own") {
  const auto backend = [](const ExperimentConfig& experiment, const HostInventory& hosts) {
    return value(values_of(planned(experiment, hosts), 0), "TRAIN_BACKEND");
  };
  CHECK(backend(gpu_experiment(2, 1), gpu_inventory({2})) == "nccl");
  CHECK(backend(gpu_experiment(2, 0.5), gpu_inventory({2})) == "gloo");
  CHECK(backend(cpu_experiment(2, 1), gpu_inventory({2})) == "gloo");
  CHECK(backend(slot_experiment(2), inventory_of({place_host("n1", 2)})) == "<backend>");
  ExperimentConfig experiment = gpu_experiment(2, 1);
  experiment.backend = CollectiveBackend::ucc;
  CHECK(backend(experiment, gpu_inventory({2})) == "ucc");
}

TEST_CASE("the network interface is named when hosts differ and nobody else named one") {
  HostInventory hosts = gpu_inventory({1, 1});
  hosts.hosts[0].interface = "eth0";
  hosts.hosts[1].interface = "ib0";
  ExperimentConfig experiment = gpu_experiment(2, 1);
  const Values values = values_of(planned(experiment, hosts), 1);
  CHECK(value(values, "NCCL_SOCKET_IFNAME") == "=ib0");
  CHECK(value(values, "GLOO_SOCKET_IFNAME") == "ib0");
  const Values alone = values_of(planned(gpu_experiment(1, 1), hosts), 0);
  CHECK(value(alone, "NCCL_SOCKET_IFNAME") == "(unset)");
  experiment.environment = {variable("NCCL_SOCKET_IFNAME", "bond0")};
  CHECK(value(values_of(planned(experiment, hosts), 1), "NCCL_SOCKET_IFNAME") == "bond0");
  CHECK(value(values_of(planned(experiment, hosts), 1), "GLOO_SOCKET_IFNAME") == "ib0");
  experiment.environment = {};
  hosts.hosts[1].env = {{"GLOO_SOCKET_IFNAME", "eth9"}};
  CHECK(value(values_of(planned(experiment, hosts), 1), "GLOO_SOCKET_IFNAME") == "eth9");
  experiment.forward_environment = {"NCCL_SOCKET_IFNAME"};
  CHECK(value(values_of(planned(experiment, hosts, {{"NCCL_SOCKET_IFNAME", "^lo"}}), 1),
              "NCCL_SOCKET_IFNAME") == "^lo");
  hosts.hosts[1].interface = "";
  experiment.network = NetworkUse::none;
  CHECK(value(values_of(planned(experiment, hosts), 1), "NCCL_SOCKET_IFNAME") == "(unset)");
}

TEST_CASE("where nobody names the interface the hosts find it, unless they are not to look") {
  const HostInventory hosts = gpu_inventory({1, 1});
  ExperimentConfig experiment = gpu_experiment(2, 1);
  const auto entry = [&](const std::string& name) {
    for (const EnvironmentEntry& each : environment_of(planned(experiment, hosts), 1))
      if (each.name == name) return each;
    return EnvironmentEntry{};
  };
  CHECK(entry("NCCL_SOCKET_IFNAME") ==
        EnvironmentEntry{"NCCL_SOCKET_IFNAME", "", AtLaunch::nccl_interface, false, true});
  CHECK(entry("GLOO_SOCKET_IFNAME") ==
        EnvironmentEntry{"GLOO_SOCKET_IFNAME", "", AtLaunch::network_interface, false, true});
  CHECK(looks_for_networks(planned(experiment, hosts)));
  experiment.environment = {variable("GLOO_SOCKET_IFNAME", "bond0")};
  CHECK(entry("GLOO_SOCKET_IFNAME").text == "bond0");
  CHECK(entry("GLOO_SOCKET_IFNAME").at_launch == AtLaunch::no);
  experiment.framework = Framework::none;
  CHECK_FALSE(looks_for_networks(planned(experiment, hosts)));
  CHECK(entry("NCCL_SOCKET_IFNAME").name.empty());
  CHECK_FALSE(looks_for_networks(planned(gpu_experiment(1, 1), hosts)));  // on one host
}

TEST_CASE(
    "what the launcher forwards, a host and the experiment say, and train sets, in this order") {
  struct Row {
    bool forwarded, of_host, of_experiment;
    std::string name, expected;
  };
  const std::vector<Row> rows{
      {true, false, false, "SITE", "launcher"},  {true, true, false, "SITE", "host"},
      {true, true, true, "SITE", "experiment"},  {false, true, true, "SITE", "experiment"},
      {false, false, false, "SITE", "(unset)"},  {true, true, true, "RANK", "1"},
      {true, true, true, "TRAIN_TRIAL_ID", "0"}, {true, true, true, "CUDA_VISIBLE_DEVICES", "0,1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name, row.forwarded, row.of_host, row.of_experiment);
    ExperimentConfig experiment = gpu_experiment(2, 1);
    HostInventory hosts = gpu_inventory({2});
    if (row.forwarded) experiment.forward_environment = {row.name};
    if (row.of_host) hosts.hosts[0].env = {{row.name, "host"}};
    if (row.of_experiment) experiment.environment = {variable(row.name, "experiment")};
    CHECK(value(values_of(planned(experiment, hosts, {{row.name, "launcher"}}), 1), row.name) ==
          row.expected);
  }
}

TEST_CASE("without a global batch nothing is said of batches") {
  const Values values = values_of(planned(slot_experiment(2), gpu_inventory({2})), 0);
  for (const char* name : {"TRAIN_GLOBAL_BATCH_SIZE", "TRAIN_BATCH_SIZE", "TRAIN_BATCH_OFFSET",
                           "TRAIN_PER_SLOT_BATCH_SIZE", "TRAIN_EFFECTIVE_BATCH_SIZE"})
    CHECK(value(values, name) == "(unset)");
  CHECK(value(values, "TRAIN_AGGREGATION_FREQUENCY") == "1");
}

TEST_CASE("a rank is told its own share, and where it begins") {
  ExperimentConfig experiment = slot_experiment(3);
  experiment.global_batch_size = 8;
  experiment.batch_remainder = BatchRemainder::spread;
  const Plan plan = planned(experiment, gpu_inventory({3}));
  const std::vector<std::pair<std::string, std::string>> shares{{"3", "0"}, {"3", "3"}, {"2", "6"}};
  for (int rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    const Values values = values_of(plan, rank);
    CHECK(value(values, "TRAIN_BATCH_SIZE") == shares[rank].first);
    CHECK(value(values, "TRAIN_BATCH_OFFSET") == shares[rank].second);
    CHECK(value(values, "TRAIN_GLOBAL_BATCH_SIZE") == "8");
    CHECK(value(values, "TRAIN_PER_SLOT_BATCH_SIZE") == "2");
    CHECK(value(values, "TRAIN_EFFECTIVE_BATCH_SIZE") == "8");
  }
}

TEST_CASE("ranks are told where their checkpoints go") {
  ExperimentConfig experiment = slot_experiment(1);
  const auto values = [&] { return values_of(planned(experiment, gpu_inventory({1})), 0); };
  CHECK(values().count("TRAIN_CHECKPOINT_DIR") == 0);
  CHECK(values().count("TRAIN_CHECKPOINT_STORAGE") == 0);
  CHECK(checkpoint_directory(experiment, "abcd2345", 0).empty());
  experiment.checkpoints = {"/mnt", R"({"type":"shared_fs"})"};
  CHECK(value(values(), "TRAIN_CHECKPOINT_DIR") == "<checkpoint_directory>");
  CHECK(value(values(), "TRAIN_CHECKPOINT_STORAGE") == R"({"type":"shared_fs"})");
  CHECK(checkpoint_directory(experiment, "abcd2345", 3) == "/mnt/abcd2345/3");
  auto environment = environment_of(planned(experiment, gpu_inventory({1})), 0);
  fill_in_checkpoints(environment, "/mnt/abcd2345/0");
  const auto entry = [&](const std::string& name) {
    return *std::find_if(environment.begin(), environment.end(),
                         [&](const EnvironmentEntry& each) { return each.name == name; });
  };
  CHECK(entry("TRAIN_CHECKPOINT_DIR").text == "/mnt/abcd2345/0");
  CHECK(entry("TRAIN_CHECKPOINT_DIR").at_launch == AtLaunch::no);
  CHECK(entry("TRAIN_TASK_ID").at_launch == AtLaunch::task_id);
  experiment.checkpoints.directory = "/";
  CHECK(checkpoint_directory(experiment, "abcd2345", 0) == "/abcd2345/0");
  experiment.checkpoints = {"", R"({"type":"s3","secret_key":"k"})", true};
  environment = environment_of(planned(experiment, gpu_inventory({1})), 0);
  CHECK(entry("TRAIN_CHECKPOINT_STORAGE").secret);
}

TEST_CASE("what the workers do themselves reaches them") {
  ExperimentConfig experiment = slot_experiment(1);
  experiment.gradient_compression = true;
  experiment.max_restarts = 3;
  experiment.data_json = R"({"path":"/data"})";
  const Values values = values_of(planned(experiment, gpu_inventory({1})), 0);
  CHECK(value(values, "TRAIN_GRADIENT_COMPRESSION") == "1");
  CHECK(value(values, "TRAIN_AVERAGE_TRAINING_METRICS") == "0");
  CHECK(value(values, "TRAIN_AUTO_TUNE_TENSOR_FUSION") == "0");
  experiment.average_training_metrics = true;
  experiment.auto_tune_tensor_fusion = true;
  const Values others = values_of(planned(experiment, gpu_inventory({1})), 0);
  CHECK(value(others, "TRAIN_AVERAGE_TRAINING_METRICS") == "1");
  CHECK(value(others, "TRAIN_AUTO_TUNE_TENSOR_FUSION") == "1");
  CHECK(value(values, "TORCHELASTIC_MAX_RESTARTS") == "3");
  CHECK(value(values, "TRAIN_DATA") == R"({"path":"/data"})");
}

TEST_CASE("hyperparameters that a search chooses are known at launch") {
  ExperimentConfig experiment = slot_experiment(1);
  experiment.searched = {"hyperparameters.lr"};
  CHECK(value(values_of(planned(experiment, gpu_inventory({1})), 0), "TRAIN_HPARAMS") ==
        "<hyperparameters>");
}

TEST_CASE("threads follow the CPUs of a rank") {
  const auto threads = [](const ExperimentConfig& experiment, const HostInventory& hosts) {
    return value(values_of(planned(experiment, hosts), 0), "OMP_NUM_THREADS");
  };
  CHECK(threads(cpu_experiment(1, 3.5), inventory_of({cpu_host("n1", 4)})) == "3");
  CHECK(threads(cpu_experiment(4, 0.25), inventory_of({cpu_host("n1", 4)})) == "1");
  CHECK(threads(gpu_experiment(2, 1), gpu_inventory({2})) == "1");
  CHECK(threads(gpu_experiment(1, 1), gpu_inventory({2})) == "(unset)");
}

TEST_CASE("threads of a rank that is bound are known where it starts") {
  const auto threads = [](ExperimentConfig experiment) {
    experiment.cpu_binding = CpuBinding::node;
    return value(values_of(planned(experiment, inventory_of({cpu_host("n1", 4)})), 0),
                 "OMP_NUM_THREADS");
  };
  CHECK(threads(slot_experiment(2)) == "<threads>");
  CHECK(threads(cpu_experiment(1, 3.5)) == "3");  // what is asked for wins
  ExperimentConfig said = slot_experiment(2);
  said.environment = {variable("OMP_NUM_THREADS", "7")};
  CHECK(threads(said) == "7");
}

TEST_CASE("a default gives way to what users set, anywhere") {
  ExperimentConfig experiment = gpu_experiment(2, 1);
  HostInventory hosts = gpu_inventory({2});
  experiment.environment = {variable("OMP_NUM_THREADS", "7"),
                            variable("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")};
  hosts.hosts[0].env = {{"PYTHONUNBUFFERED", "0"}, {"OMP_NUM_THREADS", "5"}, {"SITE", "a"}};
  experiment.forward_environment = {"PYTHONFAULTHANDLER", "SITE", "NOT_SET"};
  const Values values = values_of(
      planned(experiment, hosts, {{"PYTHONFAULTHANDLER", "0"}, {"SITE", "b"}, {"OTHER", "c"}}), 0);
  CHECK(value(values, "OMP_NUM_THREADS") == "7");
  CHECK(value(values, "TORCH_NCCL_ASYNC_ERROR_HANDLING") == "0");
  CHECK(value(values, "PYTHONUNBUFFERED") == "0");
  CHECK(value(values, "PYTHONFAULTHANDLER") == "0");
  CHECK(value(values, "SITE") == "a");
  CHECK(value(values, "OTHER") == "(unset)");
  CHECK(value(values, "NOT_SET") == "(unset)");
}

TEST_CASE("defaults alone give way to the session of a host") {
  HostInventory hosts = gpu_inventory({1, 1});
  hosts.hosts[0].interface = hosts.hosts[1].interface = "eth0";
  hosts.hosts[0].env = {{"SITE", "a"}};
  ExperimentConfig experiment = gpu_experiment(2, 1);
  experiment.needs.cpus = Quantity::of(2);
  experiment.environment = {variable("PYTHONUNBUFFERED", "0")};
  const Plan plan = planned(experiment, hosts);
  std::vector<std::string> defaults;
  for (const EnvironmentEntry& entry : environment_of(plan, 0))
    if (entry.is_default) defaults.push_back(entry.name);
  CHECK(defaults == std::vector<std::string>{"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME",
                                             "OMP_NUM_THREADS", "PYTHONFAULTHANDLER",
                                             "TORCH_NCCL_ASYNC_ERROR_HANDLING"});
}

TEST_CASE("what train sets itself is not the user's to set, and the plan says so") {
  ExperimentConfig experiment = gpu_experiment(2, 1);
  HostInventory hosts = gpu_inventory({2});
  experiment.environment = {variable("RANK", "9"), variable("MINE", "1"),
                            variable("MASTER_PORT", "1234")};
  hosts.hosts[0].env = {{"WORLD_SIZE", "9"}};
  const Plan plan = planned(experiment, hosts);
  const Values values = values_of(plan, 1);
  CHECK(value(values, "RANK") == "1");
  CHECK(value(values, "WORLD_SIZE") == "2");
  CHECK(value(values, "MINE") == "1");
  CHECK(value(values, "MASTER_PORT") == "<rendezvous_port>");
  CHECK(warnings_of(plan) ==
        std::vector<std::string>{
            "environment: train sets RANK, MASTER_PORT; the value given is not used",
            "env of n1: train sets WORLD_SIZE; the value given is not used"});
}

TEST_CASE("a variable without a value is taken from the launcher and is secret") {
  ExperimentConfig experiment = gpu_experiment(1, 1);
  experiment.environment = {variable("TOKEN", std::nullopt), variable("OPEN", "x")};
  const Plan plan = planned(experiment, gpu_inventory({1}), {{"TOKEN", "s3cret"}});
  const Values values = values_of(plan, 0);
  CHECK(value(values, "TOKEN") == "<secret>");
  CHECK(value(values, "OPEN") == "x");
  const auto entries = environment_of(plan, 0);
  const auto token = std::find_if(entries.begin(), entries.end(),
                                  [](const auto& entry) { return entry.name == "TOKEN"; });
  REQUIRE(token != entries.end());
  CHECK(token->text == "s3cret");
}

TEST_CASE("a plan has all that its environments need, and outlives what it was made of") {
  std::optional<Plan> plan;
  {
    ExperimentConfig experiment = gpu_experiment(2, 1);
    experiment.environment = {variable("TOKEN", std::nullopt)};
    experiment.forward_environment = {"PATH"};
    const EnvironmentMap launcher = {{"TOKEN", "s3cret"}, {"PATH", "/bin"}, {"HOME", "/root"}};
    plan = planned(experiment, gpu_inventory({1, 1}), launcher);
  }
  const Plan copy = *plan;
  const std::vector<EnvironmentEntry> before = environment_of(*plan, 1);
  plan.reset();
  CHECK(environment_of(copy, 1) == before);
  CHECK(copy.user_variables ==
        UserVariables{.forwarded = {{.name = "PATH", .text = "/bin"}},
                      .of_experiment = {{.name = "TOKEN", .text = "s3cret", .secret = true}}});
}

TEST_CASE("a plan has the warnings of files with their places, then its own, each once") {
  ExperimentConfig experiment = gpu_experiment(1, 1);
  experiment.environment = {variable("RANK", "9")};
  experiment.warnings = {{{"experiment.yaml", 2, 1, {}}, "key", "of the experiment", "hint"}};
  HostInventory hosts = gpu_inventory({1});
  hosts.warnings = {{{"hosts.yaml", 3, 1, {}}, "name", "of the hosts", {}}};
  const Plan plan = planned(experiment, hosts);
  REQUIRE(plan.warnings.size() == 3);
  CHECK(plan.warnings[0] == experiment.warnings[0]);
  CHECK(plan.warnings[1] == hosts.warnings[0]);
  CHECK(plan.warnings[2].message.find("environment: train sets RANK") == 0);
  CHECK(plan.experiment.warnings.empty());
}

TEST_CASE("every variable that is nowhere set is named at once") {
  ExperimentConfig experiment = gpu_experiment(1, 1);
  experiment.environment = {variable("A", std::nullopt), variable("B", std::nullopt)};
  const auto user = resolve_environment(experiment, {});
  REQUIRE_FALSE(user);
  CHECK(user.error().error_class == ErrorClass::config);
  REQUIRE(user.error().diagnostics.size() == 2);
  CHECK(user.error().diagnostics[1].message.find("B is to be taken") == 0);
}

TEST_CASE("what train sets is scrubbed from no rank") {
  ExperimentConfig experiment = slot_experiment(2);
  experiment.framework = Framework::mpi;
  CHECK(value(values_of(planned(experiment, gpu_inventory({2})), 1), "OMPI_COMM_WORLD_RANK") ==
        "1");
}

TEST_CASE("facts of a launch and their names go both ways") {
  for (int i = 1; i <= static_cast<int>(AtLaunch::data_file); ++i) {
    const auto fact = static_cast<AtLaunch>(i);
    CHECK(to_string(fact) != "no");
    CHECK(at_launch_from_string(to_string(fact)) == fact);
  }
  CHECK(at_launch_from_string("nonsense") == AtLaunch::no);
}
