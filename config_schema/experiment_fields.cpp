// SPDX-License-Identifier: Apache-2.0
#include "config_schema/field.hpp"

namespace train {

namespace {

using enum FieldType;
using enum FieldSource;

constexpr FieldEffect metadata = FieldEffect::metadata;
constexpr FieldEffect no_effect = FieldEffect::none;
constexpr FieldEffect later = FieldEffect::later;

constexpr std::int64_t most_workers = 1'000'000;
constexpr std::int64_t most_samples = 1'000'000'000'000;

constexpr std::string_view policies = "auto|pack|spread|strict_pack|strict_spread";
constexpr std::string_view ray_policies = "PACK|SPREAD|STRICT_PACK|STRICT_SPREAD";

constexpr Field fields[] = {
    // What it is called.
    {"name", string, determined, "", "what messages and tables call the experiment"},
    {"description", string, determined, "", "a line for people"},
    {"labels", any, determined, "", "words to find it by", metadata},
    {"tags", any, determined, "", "words to find it by", metadata},
    {"project", string, determined, "", "the project it belongs to", metadata},
    {"workspace", string, determined, "", "the workspace it belongs to", metadata},
    {"data", open_mapping, determined, "{}", "reaches the workers as JSON (TRAIN_DATA)"},

    // What runs.
    {"entrypoint", command, determined, "", "what each rank runs: a shell line or a list of words"},
    {"processes", choice, train, "per_rank", "one process per rank, or one per host",
     FieldEffect::used, "", 0, no_limit, "per_rank|per_host"},
    {"working_directory", string, train, "", "where the ranks run"},
    {"framework", choice, train, "torch", "which rendezvous environment the ranks get",
     FieldEffect::used, "", 0, no_limit, "torch|jax|none", "tensorflow|deepspeed|horovod|mpi"},
    {"backend", choice, train, "auto", "the collective library (TRAIN_BACKEND)", FieldEffect::used,
     "", 0, no_limit, "auto|nccl|gloo|mpi|ucc"},
    {"visible_devices", choice, train, "auto", "which devices a rank sees", FieldEffect::used, "",
     0, no_limit, "auto|shared|per_rank"},
    {"environment", mapping, determined, "", "variables of every rank"},
    {"environment.variables", open_mapping, train, "", "name: value; null: the launcher's value"},
    {"environment.environment_variables", any, determined, "", "list of NAME=VALUE, or by device"},
    {"environment.image", any, determined, "", "container image", no_effect},
    {"environment.force_pull_image", boolean, determined, "false", "pull the image", no_effect},
    {"environment.pod_spec", any, determined, "", "Kubernetes pod", no_effect},
    {"environment.registry_auth", any, determined, "", "image registry", no_effect},
    {"environment.add_capabilities", any, determined, "", "container capabilities", no_effect},
    {"environment.drop_capabilities", any, determined, "", "container capabilities", no_effect},
    {"environment.ports", any, determined, "", "container ports", no_effect},
    {"environment.proxy_ports", any, determined, "", "container ports", no_effect},
    {"environment.slurm", any, determined, "", "Slurm options", no_effect},
    {"environment.pbs", any, determined, "", "PBS options", no_effect},
    {"forward_environment", strings, train, "",
     "variables of the launcher's environment that the ranks get"},
    {"hyperparameters", open_mapping, determined, "{}", "reach the workers as JSON"},
    {"hyperparameters.global_batch_size", integer, determined, "", "samples per step of all ranks",
     FieldEffect::used, "global_batch_size", 1, most_samples},
    {"global_batch_size", integer, train, "", "samples per step of all ranks", FieldEffect::used,
     "", 1, most_samples},
    {"optimizations", mapping, determined, "", "how gradients are exchanged"},
    {"optimizations.aggregation_frequency", integer, determined, "1", "batches per exchange",
     FieldEffect::used, "", 1, 1'000'000},
    {"optimizations.gradient_compression", boolean, determined, "false", "compress", later},
    {"optimizations.average_training_metrics", boolean, determined, "true", "average", no_effect},
    {"optimizations.average_aggregated_gradients", boolean, determined, "true", "average",
     no_effect},
    {"optimizations.auto_tune_tensor_fusion", boolean, determined, "false", "tune Horovod", later},
    {"optimizations.tensor_fusion_threshold", integer, determined, "64", "Horovod", no_effect},
    {"optimizations.tensor_fusion_cycle_time", integer, determined, "1", "Horovod", no_effect},
    {"optimizations.mixed_precision", string, determined, "O0", "Apex level", no_effect},
    {"optimizations.grad_updates_size_file", string, determined, "", "debugging", no_effect},

    // What it needs.
    {"resources", mapping, determined, "", "what the trial takes"},
    {"resources.slots_per_trial", integer, determined, "", "slots of the trial; 0: one CPU worker",
     FieldEffect::used, "", 0, most_workers},
    {"slots_per_trial", integer, determined, "", "slots of the trial", FieldEffect::used,
     "resources.slots_per_trial", 0, most_workers},
    {"resources.resources_per_worker", open_mapping, ray, "",
     "CPU, GPU, memory and custom amounts"},
    {"resources_per_worker", open_mapping, ray, "", "CPU, GPU, memory and custom amounts",
     FieldEffect::used, "resources.resources_per_worker"},
    {"resources.num_workers", integer, ray, "", "ranks of the trial", FieldEffect::used, "", 1,
     most_workers},
    {"num_workers", integer, ray, "", "ranks of the trial", FieldEffect::used,
     "resources.num_workers", 1, most_workers},
    {"resources.placement", choice, train, "auto", "how ranks are laid on hosts", FieldEffect::used,
     "", 0, no_limit, policies},
    {"resources.allow_heterogeneous", boolean, train, "false", "mix whole hosts of several sizes"},
    {"resources.batch_remainder", choice, train, "drop", "what happens to a batch's remainder",
     FieldEffect::used, "", 0, no_limit, "drop|spread|error"},
    {"resources.batch_split", choice, train, "even", "how the batch is split", FieldEffect::used,
     "", 0, no_limit, "even|weighted"},
    {"resources.is_single_node", boolean, determined, "false", "one host or never"},
    {"resources.resource_pool", string, determined, "", "selects hosts by pool"},
    {"resources.priority", integer, determined, "", "scheduling priority", no_effect},
    {"resources.max_slots", integer, determined, "", "slots of all trials", no_effect},
    {"resources.shm_size", any, determined, "", "shared memory of the container", no_effect},
    {"resources.weight", number, determined, "1", "fair share", no_effect},
    {"resources.devices", list, determined, "", "devices of the container", no_effect},
    {"resources.native_parallel", boolean, determined, "false", "old trials", no_effect},
    {"resources.resource_manager", string, determined, "", "which manager", no_effect},
    {"scaling_config", mapping, ray, "", "Ray's ScalingConfig"},
    {"scaling_config.num_workers", integer, ray, "1", "ranks of the trial", FieldEffect::used,
     "resources.num_workers", 1, most_workers},
    {"scaling_config.use_gpu", boolean, ray, "false", "each worker takes a GPU"},
    {"scaling_config.use_tpu", boolean, ray, "false", "each worker takes TPU chips", later},
    {"scaling_config.resources_per_worker", open_mapping, ray, "", "amounts", FieldEffect::used,
     "resources.resources_per_worker"},
    {"scaling_config.accelerator_type", string, ray, "", "Ray's constant, such as A100"},
    {"scaling_config.topology", string, ray, "", "shape of a TPU slice", later},
    {"scaling_config.placement_strategy", choice, ray, "PACK", "how ranks are laid on hosts",
     FieldEffect::used, "resources.placement", 0, no_limit, ray_policies},
    {"scaling_config.trainer_resources", open_mapping, ray, "{}", "reserved on rank 0's host",
     later},
    {"scaling_config.label_selector", any, ray, "", "labels that hosts must have", later},

    // How it ends.
    {"max_restarts", integer, determined, "0", "restarts of the whole trial", later, "", 0,
     1'000'000},
    {"stop_grace", duration, train, "10s", "from TERM to KILL"},
    {"cpu_binding", string, train, "none", "binds ranks to CPUs", later},
    {"hang_timeout", duration, train, "", "stops a trial that prints nothing", later},
    {"on_launcher_loss", string, train, "stop", "what hosts do without their launcher", later},
    {"reconnect_window", duration, train, "60s", "how long hosts wait for their launcher", later},
    {"min_slots_per_trial", integer, train, "", "elastic trials", later, "", 0, most_workers},
    {"log_limit", bytes, train, "", "output kept per rank", later},
    {"spool_overflow", choice, train, "block", "what a full spool does", later, "", 0, no_limit,
     "block|drop"},

    // Search.
    {"searcher", open_mapping, determined, "", "how hyperparameters are chosen"},
    {"searcher.name", choice, determined, "single", "the method", FieldEffect::used, "", 0,
     no_limit, "single", "random|grid|adaptive_asha|asha|async_halving|custom"},
    {"searcher.metric", string, determined, "", "what is compared", metadata},
    {"searcher.smaller_is_better", boolean, determined, "true", "how it is compared", metadata},
    {"searcher.max_length", any, determined, "", "length of training", no_effect},
    {"searcher.max_time", integer, determined, "", "length of training", no_effect},
    {"searcher.time_metric", string, determined, "", "length of training", no_effect},
    {"searcher.source_trial_id", integer, determined, "", "where weights come from", no_effect},
    {"searcher.source_checkpoint_uuid", string, determined, "", "where weights come from",
     no_effect},

    // Determined's own machinery.
    {"bind_mounts", list, determined, "", "folders of the container", no_effect},
    {"checkpoint_policy", string, determined, "best", "which checkpoints count", no_effect},
    {"checkpoint_storage", any, determined, "", "where checkpoints go", no_effect},
    {"debug", boolean, determined, "false", "more logs", no_effect},
    {"integrations", any, determined, "", "other services", no_effect},
    {"log_policies", list, determined, "", "what log lines trigger", no_effect},
    {"min_checkpoint_period", any, determined, "", "how often it saves", no_effect},
    {"min_validation_period", any, determined, "", "how often it validates", no_effect},
    {"pbs", any, determined, "", "PBS options", no_effect},
    {"perform_initial_validation", boolean, determined, "false", "validates first", no_effect},
    {"preemption_timeout", integer, determined, "", "seconds to leave", no_effect},
    {"profiling", any, determined, "", "what is measured", no_effect},
    {"records_per_epoch", integer, determined, "0", "samples of an epoch", no_effect},
    {"reproducibility", any, determined, "", "random seed", no_effect},
    {"retention_policy", any, determined, "", "how long logs are kept", no_effect},
    {"scheduling_unit", integer, determined, "100", "batches between decisions", no_effect},
    {"slurm", any, determined, "", "Slurm options", no_effect},
};

}  // namespace

std::span<const Field> experiment_fields() { return fields; }

}  // namespace train
