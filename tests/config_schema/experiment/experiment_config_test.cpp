// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_config.hpp"

#include <set>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/yaml/yaml_node.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;
using namespace std::chrono_literals;
using train::testing::read_experiment;
using train::testing::refusal;

namespace {

std::vector<std::string> warnings_of(const ExperimentConfig& config) {
  std::vector<std::string> messages;
  for (const Diagnostic& warning : config.warnings) messages.push_back(warning.message);
  return messages;
}

}  // namespace

TEST_CASE("an experiment has the documented defaults") {
  const auto config = read_experiment("entrypoint: python3 train.py");
  CHECK(config.name == "experiment");
  CHECK(config.entrypoint.shell == "python3 train.py");
  CHECK(config.workers == 1);
  CHECK(config.placement == PlacementPolicy::automatic);
  CHECK_FALSE(config.global_batch_size);
  CHECK(config.framework == Framework::torch);
  CHECK(config.backend == CollectiveBackend::automatic);
  CHECK(config.max_restarts == 0);
  CHECK_FALSE(config.max_runtime);
  CHECK(config.stop_signal == "TERM");
  CHECK(config.stop_notice == 0s);
  CHECK(config.stop_grace == 10s);
  CHECK(config.reconnect_window == 60s);
  CHECK(config.blame_limit == 2);
  CHECK_FALSE(config.spare_hosts);
  CHECK(config.least_workers == 0);
  CHECK(config.hang_timeout == std::chrono::milliseconds(0));
  CHECK(config.max_no_progress == 0);
  CHECK_FALSE(config.replaces_at_once);
  CHECK(config.restart_delay == 1s);
  CHECK_FALSE(config.spool_overflow);
  CHECK_FALSE(config.launcher_wait);
  CHECK(config.hyperparameters_json == "{}");
  CHECK(config.data_json == "{}");
  CHECK(config.forward_environment.size() == 5);
  CHECK(config.warnings.empty());
}

TEST_CASE("every key that is read arrives") {
  const auto config = read_experiment(R"(
name: digits
description: a line
labels: [a, b]
project: p
workspace: w
tags: [x]
data: {path: /data, parts: [1, 2]}
entrypoint: [python3, train.py, "I am 6' tall", $HOME, "a\nb"]
working_directory: /srv/x
processes: per_host
framework: jax
backend: gloo
visible_devices: per_rank
cpu_binding: exclusive
wait_for_gpu: {delay_s: 2.5}
forward_environment: [HOME]
hyperparameters:
  lr: 1e-3
  layers: {type: const, val: 3}
  nested: {deep: [true, null]}
  global_batch_size: 64
optimizations: {aggregation_frequency: 2}
resources:
  slots_per_trial: 4
  is_single_node: true
  allow_heterogeneous: true
  resource_pool: big
  placement: strict_pack
  batch_remainder: spread
  batch_split: weighted
max_runtime: 36h
stop_signal: SIGUSR1
stop_notice: 90s
stop_grace: 500ms
reconnect_window: 0
replace: at_once
blame_limit: 0
hang_timeout: 90s
hang_stacks: true
max_no_progress: 4
stop_on_same_cause: true
max_restarts: 0
restart_delay: 2m
on_launcher_loss: 90m
spool_overflow: block
)");
  CHECK(config.name == "digits");
  CHECK(config.description == "a line");
  CHECK(config.data_json == R"({"path": "/data", "parts": [1, 2]})");
  CHECK(config.entrypoint.argv ==
        std::vector<std::string>{"python3", "train.py", "I am 6' tall", "$HOME", "a\nb"});
  CHECK(config.working_directory == "/srv/x");
  CHECK(config.processes == Processes::per_host);
  CHECK(config.framework == Framework::jax);
  CHECK(config.backend == CollectiveBackend::gloo);
  CHECK(config.visible_devices == VisibleDevices::per_rank);
  CHECK(config.cpu_binding == CpuBinding::exclusive);
  CHECK(config.gpu_wait == GpuWait{std::chrono::seconds(50), 0.01, true});
  CHECK(config.forward_environment == std::vector<std::string>{"HOME"});
  CHECK(config.hyperparameters_json ==
        R"({"lr": 0.001, "layers": 3, "nested": {"deep": [true, null]}, "global_batch_size": 64})");
  CHECK(config.global_batch_size == 64u);
  CHECK(config.aggregation_frequency == 2);
  CHECK(config.workers == 4);
  CHECK(config.is_single_node);
  CHECK(config.allow_heterogeneous);
  CHECK(config.resource_pool == "big");
  CHECK(config.placement == PlacementPolicy::strict_pack);
  CHECK(config.batch_remainder == BatchRemainder::spread);
  CHECK(config.batch_split == BatchSplit::weighted);
  CHECK(config.max_runtime == 36h);
  CHECK(config.stop_signal == "USR1");
  CHECK(config.stop_notice == 90s);
  CHECK(config.stop_grace == 500ms);
  CHECK(config.reconnect_window == 0s);
  CHECK(config.blame_limit == 0);
  CHECK(config.hang_timeout == std::chrono::seconds(90));
  CHECK(config.hang_stacks);
  CHECK(config.max_no_progress == 4);
  CHECK(config.stop_on_same_cause);
  CHECK(config.replaces_at_once);
  CHECK(config.restart_delay == 120s);
  CHECK(config.launcher_wait == 90min);
  CHECK(config.spool_overflow == SpoolOverflow::block);
  CHECK(config.warnings.empty());
}

TEST_CASE("a runtime of 0 has no end, and the flag wins over the file and --set") {
  CHECK_FALSE(read_experiment("entrypoint: x\nmax_runtime: 0").max_runtime);
  ExperimentOverrides overrides;
  overrides.settings = {"max_runtime=3h"};
  CHECK(read_experiment("entrypoint: x\nmax_runtime: 1h", overrides).max_runtime == 3h);
  overrides.max_runtime = "2h";
  CHECK(read_experiment("entrypoint: x\nmax_runtime: 1h", overrides).max_runtime == 2h);
  overrides.max_runtime = "0";
  CHECK_FALSE(read_experiment("entrypoint: x\nmax_runtime: 1h", overrides).max_runtime);
  overrides.max_runtime = "soon";
  CHECK(refusal("entrypoint: x", overrides).find("'max_runtime' must be a duration") == 0);
}

TEST_CASE("a signal that no process can wait for stops no ranks") {
  for (const char* word : {"KILL", "SIGKILL", "STOP", "SIGSTOP", "usr1", "SIGNAL", "''", "15"}) {
    CAPTURE(word);
    const std::string said = refusal(std::string("entrypoint: x\nstop_signal: ") + word);
    CHECK(said.find("'stop_signal' must be one of TERM, INT, HUP, QUIT, USR1, USR2, ALRM, XCPU, "
                    "SIGTERM,") != std::string::npos);
  }
  for (const char* word : {"TERM", "SIGTERM", "INT", "SIGHUP", "QUIT", "USR2", "ALRM", "SIGXCPU"})
    CHECK(read_experiment(std::string("entrypoint: x\nstop_signal: ") + word)
              .stop_signal.find("SIG") == std::string::npos);
}

TEST_CASE("what ranks do without a launcher is a word or a time") {
  const auto wait = [](const std::string& value) {
    return read_experiment("entrypoint: x\non_launcher_loss: " + value).launcher_wait;
  };
  CHECK(wait("stop") == brief_launcher_wait);
  CHECK(wait("continue") == for_ever);
  CHECK(wait("10s") == 10s);
  CHECK(wait("7d") == 168h);
  CHECK(wait("0") == 0s);
  for (const char* bad : {"5s", "8d", "go on", "[stop]", "true"}) {
    CAPTURE(bad);
    CHECK(refusal("entrypoint: x\non_launcher_loss: " + std::string(bad))
              .find("'on_launcher_loss' must be") != std::string::npos);
  }
}

TEST_CASE("a name comes from the file, or from the program") {
  const auto name = [](const char* file) {
    return parse_experiment({file, "entrypoint: a"})->name;
  };
  CHECK(name("dir.d/digits.yaml") == "digits");
  CHECK(name("digits") == "digits");
  CHECK(name(".hidden") == ".hidden");
  CHECK(name("-") == "stdin");
  CHECK(make_experiment({.command = {"/usr/bin/python3", "x.py"}})->name == "python3");
}

TEST_CASE("variables come from a list, a map, or by device") {
  const auto variables = [](const std::string& yaml) {
    std::string text;
    for (const EnvironmentVariable& variable : read_experiment(yaml).environment)
      text += variable.name + (variable.value ? "=" + *variable.value : "") + ";";
    return text;
  };
  CHECK(variables("environment: {environment_variables: [A=1, B=x=y, C=]}") == "A=1;B=x=y;C=;");
  CHECK(variables("environment: {environment_variables: {A: 012, B: null}}") == "A=012;B;");
  CHECK(variables("environment: {variables: {A: true, TOKEN: ~, C: 'x y'}}") ==
        "A=true;TOKEN;C=x y;");
  const std::string by_device =
      "environment: {environment_variables: {cpu: [D=cpu], cuda: [D=cuda]}}\n";
  CHECK(variables(by_device + "slots_per_trial: 2") == "D=cuda;");
  CHECK(variables(by_device + "slots_per_trial: 0") == "D=cpu;");
  CHECK(variables("environment: {environment_variables: [A=1, A=2]}") == "A=2;");
}

TEST_CASE("variables with impossible names are refused") {
  CHECK(refusal("environment: {variables: {'': 1}}").find("name of a variable") !=
        std::string::npos);
  CHECK(refusal("environment: {variables: {'A=B': 1}}").find("name of a variable") !=
        std::string::npos);
  CHECK(refusal("environment: {variables: {A: \"a\\0b\"}}").find("zero byte") != std::string::npos);
  CHECK(refusal("environment: {variables: {A: [1]}}").find("single value") != std::string::npos);
  CHECK(refusal("forward_environment: ['A=B']").find("name of a variable") != std::string::npos);
}

TEST_CASE("checkpoints go to a folder, or where the script is told to") {
  const auto storage = [](const std::string& keys) {
    return read_experiment("entrypoint: a\ncheckpoint_storage: {" + keys + "}").checkpoints;
  };
  CHECK(read_experiment("entrypoint: a").checkpoints == CheckpointStorage{});
  CHECK(storage("type: shared_fs, host_path: /mnt/x/") ==
        CheckpointStorage{"/mnt/x", R"({"type": "shared_fs", "host_path": "/mnt/x/"})"});
  CHECK(storage("type: shared_fs, host_path: /").directory == "/");
  CHECK(storage("type: shared_fs, host_path: /mnt, storage_path: a/../b").directory == "/mnt/b");
  CHECK(storage("type: shared_fs, host_path: /mnt, storage_path: /mnt/c/").directory == "/mnt/c");
  CHECK(storage("type: shared_fs, host_path: /mnt, checkpoint_path: old").directory == "/mnt/old");
  CHECK(storage("type: shared_fs, host_path: /mnt, storage_path: new, checkpoint_path: old")
            .directory == "/mnt/new");
  CHECK(storage("type: directory, container_path: /c//d").directory == "/c/d");
  const CheckpointStorage s3 = storage("secret_key: k, type: s3, bucket: b, host_path: null");
  CHECK(s3 == CheckpointStorage{"", R"({"type": "s3", "bucket": "b", "secret_key": "k"})", true});
  CHECK_FALSE(storage("type: gcs, bucket: b").has_secrets);
  CHECK(storage("save_trial_best: 2") == CheckpointStorage{});
  CHECK(refusal("checkpoint_storage: {type: shared_fs}").find("host_path") != std::string::npos);
  CHECK(refusal("checkpoint_storage: {type: directory}").find("container_path") !=
        std::string::npos);
  CHECK(refusal("checkpoint_storage: {type: shared_fs, host_path: mnt}").find("absolute path") !=
        std::string::npos);
  CHECK(refusal("checkpoint_storage: {type: shared_fs, host_path: /mnt, checkpoint_path: ../b}")
            .find("not inside") != std::string::npos);
}

TEST_CASE("log policies say what follows a line") {
  const auto policies = [](const std::string& list) {
    return read_experiment("entrypoint: a\nlog_policies: " + list).log_policies;
  };
  const auto policy = [](const char* name, const char* pattern, bool cancels = false,
                         bool excludes = false, const char* signal = "") {
    return LogPolicy{name, pattern, cancels, excludes, signal};
  };
  CHECK(read_experiment("entrypoint: a").log_policies.empty());
  CHECK(policies("[{name: OOM, pattern: null}]").empty());
  CHECK(policies("[{pattern: 'a(b|c)+', action: cancel_retries}]") ==
        std::vector{policy("", "a(b|c)+", true)});
  CHECK(policies("[{name: ECC, pattern: x, action: {type: exclude_node}}]") ==
        std::vector{policy("ECC", "x", false, true)});
  CHECK(policies("[{pattern: x, actions: [cancel_retries, exclude_node, {signal: seen}]}]") ==
        std::vector{policy("", "x", true, true, "seen")});
  CHECK(policies("[{pattern: x, signal: marked}, {pattern: y}]") ==
        std::vector{policy("", "x", false, false, "marked"), policy("", "y")});
  CHECK(refusal("log_policies: [{pattern: 'a(b'}]").find("'a(b' is no pattern: missing )") !=
        std::string::npos);
  CHECK(refusal("log_policies: [{pattern: '(?=a)'}]").find("no pattern") != std::string::npos);
}

TEST_CASE("metrics say whose reports count, and what of the output is one") {
  const auto metrics = [](const std::string& words) {
    return read_experiment("entrypoint: a\nmetrics: " + words).metrics;
  };
  CHECK(read_experiment("entrypoint: a").metrics == MetricsConfig{});
  CHECK(metrics("{}").ranks == ReportingRanks::first);
  CHECK(metrics("{ranks: first}").ranks == ReportingRanks::first);
  CHECK(metrics("{ranks: all}").ranks == ReportingRanks::all);
  using Patterns = std::vector<std::string>;
  CHECK(metrics("{pattern: 'loss (?P<loss>.*)'}").patterns == Patterns{"loss (?P<loss>.*)"});
  CHECK(metrics("{pattern: ['(?P<a>.)', '(?P<b>.)']}").patterns ==
        Patterns{"(?P<a>.)", "(?P<b>.)"});
  CHECK(metrics("{pattern: null}").patterns.empty());
}

TEST_CASE("a file of Determined's that does not say is restarted as often as Determined does") {
  const std::string storage = "checkpoint_storage: {type: directory, container_path: /c}\n";
  CHECK(read_experiment("entrypoint: a").max_restarts == 0);
  CHECK(read_experiment(storage).max_restarts == 5);
  CHECK(read_experiment(storage + "max_restarts: 0").max_restarts == 0);
  CHECK(read_experiment(storage + "max_restarts: null").max_restarts == 5);
}

TEST_CASE("keys without effect are named once in a warning") {
  const std::string text = R"(
entrypoint: python3 train.py
checkpoint_policy: all
bind_mounts: [{host_path: /a, container_path: /b}]
environment: {image: x}
)";
  const auto launched = read_experiment(text);
  CHECK(warnings_of(launched) ==
        std::vector<std::string>{"'checkpoint_policy' (line 3), 'bind_mounts' (line 4) and "
                                 "'environment.image' (line 5) have no effect here"});
  const auto checked = parse_experiment({"x.yaml", text}, {}, ReadFor::checking);
  REQUIRE(checked);
  CHECK(warnings_of(*checked) ==
        std::vector<std::string>{"'checkpoint_policy' has no effect here",
                                 "'bind_mounts' has no effect here",
                                 "'environment.image' has no effect here"});
  CHECK(checked->warnings[0].place.line == 3);
  CHECK(warnings_of(read_experiment("debug: true")) ==
        std::vector<std::string>{"'debug' has no effect here"});
}

TEST_CASE("a single searcher runs, and the missing restarts are said") {
  const auto config =
      read_experiment("searcher: {name: single, metric: loss, smaller_is_better: true}");
  CHECK(warnings_of(config) ==
        std::vector<std::string>{"'max_restarts' is 0 here where Determined's default is 5"});
  CHECK(
      read_experiment("searcher: {name: single, metric: loss}\nmax_restarts: 0").warnings.empty());
}

TEST_CASE("Determined's wrapper is left out with a warning") {
  const auto config = read_experiment(
      "entrypoint: python3 -m determined.launch.torch_distributed python3 train.py");
  CHECK(config.entrypoint.shell == "python3 train.py");
  REQUIRE(config.warnings.size() == 1);
  CHECK(config.warnings[0].message.find("determined.launch.torch_distributed") !=
        std::string::npos);
}

TEST_CASE("a launcher of whole hosts runs once processes is written") {
  CHECK(refusal("entrypoint: torchrun x.py").find("processes of a whole host") !=
        std::string::npos);
  CHECK(refusal("entrypoint: torchrun x.py\nprocesses: per_host").empty());
}

TEST_CASE("how far a trial may shrink is counted in slots, or in workers that have none") {
  const auto [text, workers] = GENERATE(table<std::string, int>({
      {"resources: {slots_per_trial: 4}\nmin_slots_per_trial: 3", 3},
      {"resources: {slots_per_trial: 4}\nmin_slots_per_trial: 4", 0},
      {"resources: {slots_per_trial: 4}\nmin_slots_per_trial: ~", 0},
      {"scaling_config: {num_workers: 4, use_gpu: true, resources_per_worker: {GPU: 2}}\n"
       "min_slots_per_trial: 3",
       2},
      {"scaling_config: {num_workers: 4}\nmin_slots_per_trial: 3", 3},
  }));
  INFO(text);
  const auto config =
      parse_experiment({"e.yaml", "entrypoint: x\nmax_restarts: 1\n" + text + "\n"});
  REQUIRE(config);
  CHECK(config->least_workers == workers);
  CHECK(config->warnings.empty());
  const auto idle = parse_experiment({"e.yaml", "entrypoint: x\n" + text + "\n"});
  REQUIRE(idle);
  CHECK(idle->warnings.size() == (text.ends_with("~") ? 0 : 1));
}

TEST_CASE("how far a command may shrink that takes all slots is known with these") {
  ExperimentOverrides overrides;
  overrides.command = {"true"};
  overrides.settings = {"min_slots_per_trial=2", "max_restarts=1"};
  overrides.workers = 1;
  CHECK(make_experiment(overrides));
  overrides.workers = 4;
  CHECK(make_experiment(overrides).value().least_workers == 2);
  overrides.slots = 1;
  CHECK_FALSE(make_experiment(overrides));
}

TEST_CASE("features that are not there yet are refused, their defaults accepted") {
  const auto [refused, accepted] = GENERATE(table<std::string, std::string>({
      {"searcher: {name: custom, metric: loss}",
       "searcher: {name: random, metric: loss, max_trials: 2}"},
      {"framework: mpi", "framework: tensorflow"},
      {"framework: horovod", "framework: deepspeed"},
  }));
  INFO(refused);
  CHECK(refusal(refused).find("not there yet") != std::string::npos);
  CHECK(refusal(accepted).empty());
}

TEST_CASE("a framework that needs a server of its own is planned, not launched") {
  for (const auto& [word, framework] : std::vector<std::pair<std::string, Framework>>{
           {"horovod", Framework::horovod}, {"mpi", Framework::mpi}}) {
    const auto config = parse_experiment({"x.yaml", "entrypoint: a\nframework: " + word + "\n"}, {},
                                         ReadFor::planning);
    REQUIRE(config);
    CHECK(config->framework == framework);
    REQUIRE(config->obstacles.size() == 1);
    CHECK(config->obstacles[0].diagnostic.message.find("server") != std::string::npos);
  }
}

TEST_CASE("the optimizations have Determined's defaults, and what is written counts") {
  const auto usual = read_experiment("name: a");
  CHECK(usual.aggregation_frequency == 1);
  CHECK_FALSE(usual.gradient_compression);
  CHECK_FALSE(usual.average_training_metrics);
  CHECK_FALSE(usual.auto_tune_tensor_fusion);
  const auto written = read_experiment(
      "optimizations: {average_training_metrics: true, auto_tune_tensor_fusion: true}");
  CHECK(written.average_training_metrics);
  CHECK(written.auto_tune_tensor_fusion);
  CHECK(written.warnings.empty());
}

TEST_CASE("Ray's words at the top mean what they mean in a scaling_config") {
  const auto top = read_experiment(
      "num_workers: 2\nuse_gpu: true\naccelerator_type: A100\nplacement_strategy: SPREAD\n"
      "label_selector: {zone: a}");
  const auto inside = read_experiment(
      "scaling_config: {num_workers: 2, use_gpu: true, accelerator_type: A100, placement_strategy: "
      "SPREAD, label_selector: {zone: a}, trainer_resources: {}}");
  CHECK(top == inside);
  CHECK(read_experiment("num_workers: 4\nuse_tpu: true\naccelerator_type: v6e\ntopology: 4x4")
            .slices.has_value());
  // Without a word of `use_gpu` outside of a scaling_config GPUs are asked for by their number.
  CHECK(read_experiment("slots_per_trial: 2\naccelerator_type: A100\n"
                        "resources_per_worker: {GPU: 1}")
            .needs.gpus_named);
}

TEST_CASE("Ray's torch_config and runtime_env are read") {
  const auto config = read_experiment(
      "torch_config: {backend: gloo}\n"
      "runtime_env: {working_dir: code, env_vars: {A: '1', B: $5, C: $, D: 'a$'}}");
  CHECK(config.backend == CollectiveBackend::gloo);
  CHECK(config.context_directory == "code");
  REQUIRE(config.environment.size() == 4);
  CHECK(config.environment[1].value == "$5");
  CHECK(read_experiment("name: a").context_directory.empty());
  for (const char* address : {"s3://b/c.zip", "https://example.com/a.zip", "gs://b", "file:///a"})
    CHECK(refusal(std::string("runtime_env: {working_dir: \"") + address + "\"}")
              .find("train fetches nothing") != std::string::npos);
  CHECK(refusal("runtime_env: {working_dir: ' '}").find("is empty") != std::string::npos);
}

TEST_CASE("null means absent") {
  const auto config = read_experiment(
      "name: ~\nresources: null\nglobal_batch_size: null\nhyperparameters: {global_batch_size: 4}");
  CHECK(config.name == "experiment");
  CHECK(config.global_batch_size == 4u);
}

TEST_CASE("a batch must reach every worker") {
  CHECK(refusal("slots_per_trial: 8\nglobal_batch_size: 8").empty());
  const auto config = parse_experiment(
      {"x.yaml", "entrypoint: a\nslots_per_trial: 8\nhyperparameters:\n  global_batch_size: 7\n"});
  REQUIRE_FALSE(config);
  const Diagnostic& found = config.error().diagnostics[0];
  CHECK(found.place.line == 4);
  CHECK(found.place.column == 22);
  CHECK(found.key == "hyperparameters.global_batch_size");
  CHECK(found.message.find("7") != std::string::npos);
  CHECK(found.message.find("8 workers") != std::string::npos);
  CHECK(config.error().diagnostics.size() == 1);
}

TEST_CASE("all errors of a file are told in one go, by line") {
  const auto config = parse_experiment({"x.yaml", R"(backend: ncll
global_batch_size: 1.5
resources:
  slots_per_trial: true
  zebra: 1
environment: {variables: {'': x}}
hang_timeout: never
)"});
  REQUIRE_FALSE(config);
  std::vector<int> lines;
  for (const Diagnostic& found : config.error().diagnostics) lines.push_back(found.place.line);
  CHECK(lines == std::vector<int>{0, 1, 2, 4, 5, 6, 7});
}

TEST_CASE("anchors and merge keys work in an experiment") {
  const auto config = read_experiment(
      "data: {base: &base {slots_per_trial: 4}}\nresources: {<<: *base, placement: pack}\n");
  CHECK(config.workers == 4);
  CHECK(config.placement == PlacementPolicy::pack);
}

TEST_CASE("a key of the user's own is not looked at, and may have anchors") {
  const auto config = read_experiment(
      "x-few: &few {slots_per_trial: 4}\nx-any: [1, {slot_per_trial: no, max_steps: [.nan]}]\nx-:\n"
      "resources: {<<: *few, placement: pack}\n");
  CHECK(config.workers == 4);
  CHECK(config.placement == PlacementPolicy::pack);
  CHECK(config.warnings.empty());
  CHECK(refusal("x-a: 1\nresources: {x-b: 1}\n") == "unknown key 'x-b' in 'resources'\n");
  CHECK(refusal("hyperparameters: {a: {type: int, minval: 1, maxval: 2, x-b: 1}}\n")
            .find("unknown key 'x-b'") != std::string::npos);
}

TEST_CASE("choices have the names that files use") {
  CHECK(to_string(PlacementPolicy::automatic) == "auto");
  CHECK(to_string(PlacementPolicy::in_order) == "in_order");
  CHECK(to_string(PlacementPolicy::strict_spread) == "strict_spread");
  CHECK(to_string(BatchRemainder::error) == "error");
  CHECK(to_string(BatchSplit::weighted) == "weighted");
  CHECK(to_string(Framework::torch) == "torch");
  CHECK(to_string(Framework::jax) == "jax");
  CHECK(to_string(Framework::tensorflow) == "tensorflow");
  CHECK(to_string(Framework::deepspeed) == "deepspeed");
  CHECK(to_string(Framework::horovod) == "horovod");
  CHECK(to_string(Framework::mpi) == "mpi");
  CHECK(to_string(Framework::none) == "none");
  CHECK(to_string(CollectiveBackend::ucc) == "ucc");
  CHECK(to_string(VisibleDevices::per_rank) == "per_rank");
  CHECK(to_string(CpuBinding::automatic) == "auto");
  CHECK(to_string(Processes::per_host) == "per_host");
}
