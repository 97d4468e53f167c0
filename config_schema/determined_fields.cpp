// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment_fields.hpp"

namespace train {

namespace {

using enum FieldType;
constexpr FieldSource determined = FieldSource::determined;

constexpr std::string_view at_least = "at least so many batches, samples or epochs apart";
constexpr std::string_view native_is_gone = "the Native API is gone: write 'entrypoint'";

constexpr Field fields[] = {
    Field{"labels", strings, determined, "", "words to find it by"}.for_people(),
    Field{"tags", strings, determined, "", "words to find it by"}.for_people(),
    Field{"project", string, determined, "", "the project it belongs to"}.for_people(),
    Field{"workspace", string, determined, "", "the workspace it belongs to"}.for_people(),

    Field{"checkpoint_policy", string, determined, "best", "which validations make a checkpoint"}
        .one_of("best|all|none")
        .no_effect(),
    Field{"checkpoint_storage", mapping, determined, "", "where checkpoints go"}
        .selected_by("type")
        .no_effect(),
    Field{"checkpoint_storage.type", string, determined, "", "the kind of storage"}.one_of(
        "shared_fs|s3|gcs|azure|directory|hdfs"),
    Field{"checkpoint_storage.save_experiment_best", integer, determined, "0",
          "best checkpoints of the experiment that are kept"}
        .from(0),
    Field{"checkpoint_storage.save_trial_best", integer, determined, "1",
          "best checkpoints of a trial that are kept"}
        .from(0),
    Field{"checkpoint_storage.save_trial_latest", integer, determined, "1",
          "latest checkpoints of a trial that are kept"}
        .from(0),
    Field{"checkpoint_storage.host_path", string, determined, "", "folder on the host"}.of(
        "shared_fs"),
    Field{"checkpoint_storage.storage_path", string, determined, "", "folder inside host_path"}.of(
        "shared_fs"),
    Field{"checkpoint_storage.container_path", string, determined, "", "folder in the container"}
        .of("shared_fs|directory"),
    Field{"checkpoint_storage.checkpoint_path", string, determined, "", "the old storage_path"}.of(
        "shared_fs"),
    Field{"checkpoint_storage.tensorboard_path", string, determined, "", "folder of TensorBoard"}
        .of("shared_fs"),
    Field{"checkpoint_storage.propagation", string, determined, "", "how mounts spread"}.of(
        "shared_fs"),
    Field{"checkpoint_storage.bucket", string, determined, "", "the bucket"}.of("s3|gcs"),
    Field{"checkpoint_storage.prefix", string, determined, "", "folder in the bucket"}
        .like(FieldPattern::without_parent)
        .of("s3|gcs"),
    Field{"checkpoint_storage.access_key", string, determined, "", "login"}.of("s3").secret(),
    Field{"checkpoint_storage.secret_key", string, determined, "", "login"}.of("s3").secret(),
    Field{"checkpoint_storage.endpoint_url", string, determined, "", "the service"}.of("s3"),
    Field{"checkpoint_storage.container", string, determined, "", "the container"}.of("azure"),
    Field{"checkpoint_storage.connection_string", string, determined, "", "login"}
        .of("azure")
        .secret(),
    Field{"checkpoint_storage.account_url", string, determined, "", "the account"}.of("azure"),
    Field{"checkpoint_storage.credential", string, determined, "", "login"}.of("azure").secret(),
    Field{"checkpoint_storage.hdfs_url", string, determined, "", "the service"}.of("hdfs"),
    Field{"checkpoint_storage.hdfs_path", string, determined, "", "folder in it"}
        .like(FieldPattern::absolute_path)
        .of("hdfs"),
    Field{"checkpoint_storage.user", string, determined, "", "the user of it"}.of("hdfs"),
    Field{"tensorboard_storage", open, determined, "", "where TensorBoard's files go"}.no_effect(),
    Field{"min_checkpoint_period", mapping, determined, "", "checkpoints are"}
        .one_key()
        .no_effect(),
    Field{"min_checkpoint_period.batches", integer, determined, "", at_least}.from(0),
    Field{"min_checkpoint_period.records", integer, determined, "", at_least}.from(0),
    Field{"min_checkpoint_period.epochs", integer, determined, "", at_least}.from(0),
    Field{"min_validation_period", mapping, determined, "", "validations are"}
        .one_key()
        .no_effect(),
    Field{"min_validation_period.batches", integer, determined, "", at_least}.from(0),
    Field{"min_validation_period.records", integer, determined, "", at_least}.from(0),
    Field{"min_validation_period.epochs", integer, determined, "", at_least}.from(0),
    Field{"perform_initial_validation", boolean, determined, "false", "validates first"}
        .no_effect(),
    Field{"records_per_epoch", integer, determined, "0", "samples of one epoch"}.no_effect(),
    Field{"scheduling_unit", integer, determined, "100", "batches between decisions"}
        .from(1)
        .no_effect(),
    Field{"reproducibility", mapping, determined, "", "what makes runs alike"}.no_effect(),
    Field{"reproducibility.experiment_seed", integer, determined, "", "seed of random numbers"}
        .from(0)
        .to(4'294'967'295),

    Field{"optimizations.gradient_compression", boolean, determined, "false",
          "for TRAIN_GRADIENT_COMPRESSION"},
    Field{"optimizations.average_training_metrics", boolean, determined, "true",
          "for TRAIN_AVERAGE_TRAINING_METRICS"},
    Field{"optimizations.auto_tune_tensor_fusion", boolean, determined, "false",
          "lets Horovod tune itself"}
        .later(),
    Field{"optimizations.average_aggregated_gradients", boolean, determined, "true",
          "of Determined's trials"}
        .no_effect(),
    Field{"optimizations.tensor_fusion_threshold", integer, determined, "64", "MiB, of Horovod"}
        .from(0)
        .no_effect(),
    Field{"optimizations.tensor_fusion_cycle_time", integer, determined, "1",
          "milliseconds, of Horovod"}
        .from(0)
        .no_effect(),
    Field{"optimizations.mixed_precision", string, determined, "O0", "level of Apex"}
        .one_of("O0|O1|O2|O3")
        .no_effect(),
    Field{"optimizations.grad_updates_size_file", string, determined, "", "for debugging"}
        .no_effect(),

    Field{"profiling", mapping, determined, "", "what is measured"}.no_effect(),
    Field{"profiling.enabled", boolean, determined, "false", "whether anything is"},
    Field{"profiling.begin_on_batch", integer, determined, "0", "from this batch"}.from(0),
    Field{"profiling.end_after_batch", integer, determined, "", "to this batch"}.from(0),
    Field{"profiling.sync_timings", boolean, determined, "true", "waits for the devices"},
    Field{"log_policies", list, determined, "", "what happens when a line matches"}.no_effect(),
    Field{"log_policies[]", mapping, determined, "", "one policy"},
    Field{"log_policies[].name", string, determined, "", "its name"},
    Field{"log_policies[].pattern", string, determined, "", "regular expression (RE2)"},
    Field{"log_policies[].action", string | mapping, determined, "", "what happens"}.one_of(
        "cancel_retries|exclude_node"),
    Field{"log_policies[].action.type", string, determined, "", "what happens"}
        .one_of("cancel_retries|exclude_node")
        .needed(),
    Field{"log_policies[].actions", list, determined, "", "all that happens"},
    Field{"log_policies[].actions[]", string | mapping, determined, "", "what happens"}.one_of(
        "cancel_retries|exclude_node"),
    Field{"log_policies[].actions[].signal", string, determined, "", "the trial is marked so"}
        .needed(),
    Field{"log_policies[].signal", string, determined, "", "the trial is marked so"},
    Field{"preemption_timeout", integer, determined, "", "seconds to leave"}.no_effect(),
    Field{"retention_policy", mapping, determined, "", "what is kept"}.no_effect(),
    Field{"retention_policy.log_retention_days", integer, determined, "", "-1: for ever"}
        .from(-1)
        .to(32'767),
    Field{"integrations", mapping, determined, "", "other services"}.no_effect(),
    Field{"integrations.pachyderm", mapping, determined, "", "Pachyderm"},
    Field{"integrations.pachyderm.pachd", mapping, determined, "", "its server"}.needed(),
    Field{"integrations.pachyderm.pachd.host", string, determined, "", "host"},
    Field{"integrations.pachyderm.pachd.port", integer, determined, "", "port"},
    Field{"integrations.pachyderm.proxy", mapping, determined, "", "its proxy"}.needed(),
    Field{"integrations.pachyderm.proxy.scheme", string, determined, "", "http or https"},
    Field{"integrations.pachyderm.proxy.host", string, determined, "", "host"},
    Field{"integrations.pachyderm.proxy.port", integer, determined, "", "port"},
    Field{"integrations.pachyderm.dataset", mapping, determined, "", "its data"}.needed(),
    Field{"integrations.pachyderm.dataset.project", string, determined, "", "project"}.needed(),
    Field{"integrations.pachyderm.dataset.repo", string, determined, "", "repository"}.needed(),
    Field{"integrations.pachyderm.dataset.commit", string, determined, "", "commit"},
    Field{"integrations.pachyderm.dataset.branch", string, determined, "", "branch"},
    Field{"integrations.pachyderm.dataset.token", string, determined, "", "login"}.secret(),
    Field{"integrations.webhooks", mapping, determined, "", "webhooks"},
    Field{"integrations.webhooks.webhook_id", list, determined, "", "by number"},
    Field{"integrations.webhooks.webhook_id[]", integer, determined, "", "one"},
    Field{"integrations.webhooks.webhook_name", strings, determined, "", "by name"},
    Field{"integrations.webhooks.exclude", boolean, determined, "false", "all but these"},
    Field{"slurm", mapping, determined, "", "how Slurm runs it"}.no_effect(),
    Field{"slurm.slots_per_node", integer, determined, "", "slots of a node"}.from(1),
    Field{"slurm.gpu_type", string, determined, "", "kind of GPU"},
    Field{"slurm.sbatch_args", strings, determined, "", "options of sbatch"},
    Field{"pbs", mapping, determined, "", "how PBS runs it"}.no_effect(),
    Field{"pbs.slots_per_node", integer, determined, "", "slots of a node"}.from(1),
    Field{"pbs.pbsbatch_args", strings, determined, "", "options of qsub"},
    Field{"debug", boolean, determined, "false", "more logs"}.no_effect(),
    Field{"data_layer", open, determined, "", "ignored by Determined since 0.19.10"}.no_effect(),
    Field{"security", mapping, determined, "", "unused"}.no_effect(),
    Field{"security.kerberos", mapping, determined, "", "unused"},
    Field{"security.kerberos.config_file", string, determined, "", "unused"}.needed(),

    Field{"internal", any, determined, "", native_is_gone}.removed(),
    Field{"batches_per_step", any, determined, "", "write scheduling_unit"}.removed(),
    Field{"max_steps", any, determined, "", "write searcher.max_length: {batches: N}"}.removed(),
    Field{"validation_period", any, determined, "", "write min_validation_period: {batches: N}"}
        .removed(),
    Field{"checkpoint_period", any, determined, "", "write min_checkpoint_period: {batches: N}"}
        .removed(),
};

}  // namespace

std::span<const Field> determined_fields() { return fields; }

}  // namespace train
