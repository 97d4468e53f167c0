// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/field_table.hpp"

namespace train {

namespace {

using enum FieldType;
using enum FieldSource;

constexpr std::string_view no_such = "remove it: Determined does not let it be set";
constexpr std::string_view native_is_gone = "the Native API is gone: write 'entrypoint'";

constexpr Field fields[] = {
    Field{"environment.image", string | mapping, determined, "",
          "image of the container, or one for each kind of device"}
        .no_effect(),
    Field{"environment.image.cpu", string, determined, "", "image of trials without accelerators"},
    Field{"environment.image.cuda", string, determined, "", "image on NVIDIA GPUs"},
    Field{"environment.image.rocm", string, determined, "", "image on AMD GPUs"},
    Field{"environment.image.gpu", string, determined, "", "the old name of cuda"},
    Field{"environment.force_pull_image", boolean, determined, "false",
          "pulls the image even where it is there already"}
        .no_effect(),
    Field{"environment.registry_auth", mapping, determined, "", "login of the image registry"}
        .no_effect(),
    Field{"environment.registry_auth.username", string, determined, "", "user name"},
    Field{"environment.registry_auth.password", string, determined, "", "password"}.secret(),
    Field{"environment.registry_auth.auth", string, determined, "", "user and password in base64"}
        .secret(),
    Field{"environment.registry_auth.email", string, determined, "", "mail address"},
    Field{"environment.registry_auth.serveraddress", string, determined, "",
          "address of the registry"},
    Field{"environment.registry_auth.identitytoken", string, determined, "",
          "token in place of a password"}
        .secret(),
    Field{"environment.registry_auth.registrytoken", string, determined, "",
          "token that is sent to the registry"}
        .secret(),
    Field{"environment.ports", mapping, determined, "", "ports of the container"}.no_effect(),
    Field{"environment.ports.*", integer, determined, "", "number of one port"},
    Field{"environment.proxy_ports", list, determined, "",
          "ports that Determined's master forwards"}
        .no_effect(),
    Field{"environment.proxy_ports[]", mapping, determined, "", "one port"},
    Field{"environment.proxy_ports[].proxy_port", integer, determined, "", "number of the port"}
        .needed(),
    Field{"environment.proxy_ports[].proxy_tcp", boolean, determined, "false",
          "forwards TCP, not only HTTP"},
    Field{"environment.proxy_ports[].unauthenticated", boolean, determined, "false",
          "anybody may use it, without login"},
    Field{"environment.proxy_ports[].default_service_id", boolean, determined, "false",
          "it is the task's own address"},
    Field{"environment.add_capabilities", strings, determined, "",
          "Linux capabilities that the container gets"}
        .no_effect(),
    Field{"environment.drop_capabilities", strings, determined, "",
          "Linux capabilities that the container loses"}
        .no_effect(),
    Field{"environment.slurm", strings, determined, "",
          "the same as slurm.sbatch_args, before these"},
    Field{"environment.pod_spec", open, determined, "", "the Kubernetes pod"}.no_effect(),
    Field{"environment.pod_spec.name", any, determined, "", no_such}.forbidden(),
    Field{"environment.pod_spec.name_space", any, determined, "", no_such}.forbidden(),
    Field{"environment.pod_spec.spec", open, determined, "", "specification of the pod"},
    Field{"environment.pod_spec.spec.containers", list, determined, "", "containers of the pod"},
    Field{"environment.pod_spec.spec.containers[]", open, determined, "", "one container"},

    Field{"bind_mounts", list, determined, "", "folders of the host that the container sees"}
        .no_effect(),
    Field{"bind_mounts[]", mapping, determined, "", "one folder"},
    Field{"bind_mounts[].host_path", string, determined, "", "path on the host"}
        .like(FieldPattern::absolute_path)
        .needed(),
    Field{"bind_mounts[].container_path", string, determined, "", "path in the container"}
        .like(FieldPattern::not_dot)
        .needed(),
    Field{"bind_mounts[].read_only", boolean, determined, "false",
          "the container may read, but not write it"},
    Field{"bind_mounts[].propagation", string, determined, "rprivate",
          "how mounts below it spread between host and container"},

    Field{"labels", strings, determined, "", "words to find the experiment by"}.for_people(),
    Field{"tags", strings, determined, "", "words to find the experiment by"}.for_people(),
    Field{"project", string, determined, "", "the project that the experiment belongs to"}
        .for_people(),
    Field{"workspace", string, determined, "", "the workspace that the project belongs to"}
        .for_people(),

    Field{"checkpoint_policy", string, determined, "best", "which validations save a checkpoint"}
        .one_of("best|all|none")
        .no_effect(),
    Field{"checkpoint_storage", mapping, determined, "", "where checkpoints are kept"}.selected_by(
        "type"),
    Field{"checkpoint_storage.type", string, determined, "", "the kind of storage"}.one_of(
        "shared_fs|s3|gcs|azure|directory|hdfs"),
    Field{"checkpoint_storage.save_experiment_best", integer, determined, "0",
          "best checkpoints of the experiment that are kept"}
        .from(0)
        .no_effect(),
    Field{"checkpoint_storage.save_trial_best", integer, determined, "1",
          "best checkpoints of a trial that are kept"}
        .from(0)
        .no_effect(),
    Field{"checkpoint_storage.save_trial_latest", integer, determined, "1",
          "latest checkpoints of a trial that are kept"}
        .from(0)
        .no_effect(),
    Field{"checkpoint_storage.host_path", string, determined, "", "folder that every host shares"}
        .like(FieldPattern::absolute_path)
        .of("shared_fs")
        .needed("shared_fs"),
    Field{"checkpoint_storage.storage_path", string, determined, "", "folder inside host_path"}.of(
        "shared_fs"),
    Field{"checkpoint_storage.container_path", string, determined, "",
          "of type directory: folder that every host shares"}
        .like(FieldPattern::absolute_path)
        .of("shared_fs|directory")
        .needed("directory"),
    Field{"checkpoint_storage.checkpoint_path", string, determined, "",
          "the old name of storage_path"}
        .of("shared_fs"),
    Field{"checkpoint_storage.tensorboard_path", string, determined, "",
          "folder of TensorBoard's files"}
        .of("shared_fs")
        .no_effect(),
    Field{"checkpoint_storage.propagation", string, determined, "",
          "how mounts below it spread between host and container"}
        .of("shared_fs")
        .no_effect(),
    Field{"checkpoint_storage.bucket", string, determined, "", "name of the bucket"}.of("s3|gcs"),
    Field{"checkpoint_storage.prefix", string, determined, "", "folder in the bucket"}
        .like(FieldPattern::without_parent)
        .of("s3|gcs"),
    Field{"checkpoint_storage.access_key", string, determined, "", "public part of the login"}
        .of("s3")
        .secret(),
    Field{"checkpoint_storage.secret_key", string, determined, "", "secret part of the login"}
        .of("s3")
        .secret(),
    Field{"checkpoint_storage.endpoint_url", string, determined, "",
          "address of a service that is not Amazon's"}
        .of("s3"),
    Field{"checkpoint_storage.container", string, determined, "", "name of Azure's container"}.of(
        "azure"),
    Field{"checkpoint_storage.connection_string", string, determined, "",
          "address and login in one"}
        .of("azure")
        .secret(),
    Field{"checkpoint_storage.account_url", string, determined, "", "address of the account"}.of(
        "azure"),
    Field{"checkpoint_storage.credential", string, determined, "", "login, with account_url"}
        .of("azure")
        .secret(),
    Field{"checkpoint_storage.hdfs_url", string, determined, "", "address of HDFS"}.of("hdfs"),
    Field{"checkpoint_storage.hdfs_path", string, determined, "", "folder in HDFS"}
        .like(FieldPattern::absolute_path)
        .of("hdfs"),
    Field{"checkpoint_storage.user", string, determined, "", "the user of HDFS"}.of("hdfs"),
    Field{"tensorboard_storage", open, determined, "", "where TensorBoard's files go"}.no_effect(),
    Field{"min_checkpoint_period", mapping, determined, "",
          "how far checkpoints are apart at least"}
        .one_key()
        .no_effect(),
    Field{"min_checkpoint_period.batches", integer, determined, "", "counted in batches"}.from(0),
    Field{"min_checkpoint_period.records", integer, determined, "", "counted in samples"}.from(0),
    Field{"min_checkpoint_period.epochs", integer, determined, "",
          "counted in epochs; needs records_per_epoch"}
        .from(0),
    Field{"min_validation_period", mapping, determined, "",
          "how far validations are apart at least"}
        .one_key()
        .no_effect(),
    Field{"min_validation_period.batches", integer, determined, "", "counted in batches"}.from(0),
    Field{"min_validation_period.records", integer, determined, "", "counted in samples"}.from(0),
    Field{"min_validation_period.epochs", integer, determined, "",
          "counted in epochs; needs records_per_epoch"}
        .from(0),
    Field{"perform_initial_validation", boolean, determined, "false",
          "validates once before anything is trained"}
        .no_effect(),
    Field{"records_per_epoch", integer, determined, "0", "samples of one epoch"}.no_effect(),
    Field{"scheduling_unit", integer, determined, "100",
          "batches between two looks at whether to save or to make room"}
        .from(1)
        .no_effect(),
    Field{"reproducibility", mapping, determined, "", "what makes runs repeat"},
    Field{"reproducibility.experiment_seed", integer, determined, "",
          "the seed of what is drawn for trials, and of their TRAIN_TRIAL_SEED; default: 0"}
        .from(0)
        .to(4'294'967'295),

    Field{"optimizations.gradient_compression", boolean, determined, "false",
          "exchange gradients compressed; in TRAIN_GRADIENT_COMPRESSION"},
    Field{"optimizations.average_training_metrics", boolean, determined, "false",
          "average metrics over ranks; in TRAIN_AVERAGE_TRAINING_METRICS"},
    Field{"optimizations.auto_tune_tensor_fusion", boolean, determined, "false",
          "tune the fusion of tensors; in TRAIN_AUTO_TUNE_TENSOR_FUSION, and HOROVOD_AUTOTUNE=1"},
    Field{"optimizations.average_aggregated_gradients", boolean, determined, "true",
          "averages what aggregation_frequency sums up"}
        .no_effect(),
    Field{"optimizations.tensor_fusion_threshold", integer, determined, "64",
          "MiB that Horovod exchanges at once"}
        .from(0)
        .no_effect(),
    Field{"optimizations.tensor_fusion_cycle_time", integer, determined, "1",
          "milliseconds between exchanges of Horovod"}
        .from(0)
        .no_effect(),
    Field{"optimizations.mixed_precision", string, determined, "O0",
          "level of mixed precision, by the names of Apex"}
        .one_of("O0|O1|O2|O3")
        .no_effect(),
    Field{"optimizations.grad_updates_size_file", string, determined, "",
          "file for the sizes of gradients, to debug"}
        .no_effect(),

    Field{"profiling", mapping, determined, "",
          "what is measured of the system and of the training"}
        .no_effect(),
    Field{"profiling.enabled", boolean, determined, "false", "whether anything is measured"},
    Field{"profiling.begin_on_batch", integer, determined, "0", "the first batch that is measured"}
        .from(0),
    Field{"profiling.end_after_batch", integer, determined, "", "the last batch that is measured"}
        .from(0),
    Field{"profiling.sync_timings", boolean, determined, "true",
          "waits for the devices before it looks at the clock"},
    Field{"log_policies", list, determined, "", "what happens when a line of output matches"},
    Field{"log_policies[]", mapping, determined, "", "one policy"},
    Field{"log_policies[].name", string, determined, "", "name of the policy"},
    Field{"log_policies[].pattern", string, determined, "",
          "regular expression (RE2) that the line matches"},
    Field{"log_policies[].action", string | mapping, determined, "", "what happens then"}.one_of(
        "cancel_retries|exclude_node"),
    Field{"log_policies[].action.type", string, determined, "", "what happens then"}
        .one_of("cancel_retries|exclude_node")
        .needed(),
    Field{"log_policies[].actions", list, determined, "", "all that happens then"},
    Field{"log_policies[].actions[]", string | mapping, determined, "",
          "one thing that happens then"}
        .one_of("cancel_retries|exclude_node"),
    Field{"log_policies[].actions[].signal", string, determined, "",
          "a word that the trial is marked with"}
        .needed(),
    Field{"log_policies[].signal", string, determined, "", "a word that the trial is marked with"},
    Field{"preemption_timeout", integer, determined, "",
          "seconds that a trial has to stop when it must make room"}
        .no_effect(),
    Field{"retention_policy", mapping, determined, "", "how long things are kept"}.no_effect(),
    Field{"retention_policy.log_retention_days", integer, determined, "",
          "days that logs are kept; -1: for ever"}
        .from(-1)
        .to(32'767),
    Field{"integrations", mapping, determined, "", "other services that take part"}.no_effect(),
    Field{"integrations.pachyderm", mapping, determined, "", "data that Pachyderm keeps"},
    Field{"integrations.pachyderm.pachd", mapping, determined, "", "Pachyderm's server"}.needed(),
    Field{"integrations.pachyderm.pachd.host", string, determined, "", "name of its host"},
    Field{"integrations.pachyderm.pachd.port", integer, determined, "", "number of its port"},
    Field{"integrations.pachyderm.proxy", mapping, determined, "", "Pachyderm's proxy"}.needed(),
    Field{"integrations.pachyderm.proxy.scheme", string, determined, "",
          "its scheme, http or https"},
    Field{"integrations.pachyderm.proxy.host", string, determined, "", "name of its host"},
    Field{"integrations.pachyderm.proxy.port", integer, determined, "", "number of its port"},
    Field{"integrations.pachyderm.dataset", mapping, determined, "", "which data"}.needed(),
    Field{"integrations.pachyderm.dataset.project", string, determined, "", "name of the project"}
        .needed(),
    Field{"integrations.pachyderm.dataset.repo", string, determined, "", "name of the repository"}
        .needed(),
    Field{"integrations.pachyderm.dataset.commit", string, determined, "",
          "identifier of the commit"},
    Field{"integrations.pachyderm.dataset.branch", string, determined, "", "name of the branch"},
    Field{"integrations.pachyderm.dataset.token", string, determined, "", "token to log in with"}
        .secret(),
    Field{"integrations.webhooks", mapping, determined, "", "webhooks that hear of the experiment"},
    Field{"integrations.webhooks.webhook_id", list, determined, "", "webhooks by number"},
    Field{"integrations.webhooks.webhook_id[]", integer, determined, "", "number of one webhook"},
    Field{"integrations.webhooks.webhook_name", strings, determined, "", "webhooks by name"},
    Field{"integrations.webhooks.exclude", boolean, determined, "false",
          "no webhook hears of the experiment"},
    Field{"slurm", mapping, determined, "", "how Slurm runs the trial, with engine: slurm"},
    Field{"slurm.slots_per_node", integer, determined, "",
          "slots of a node that are asked for at most; without it all that it has"}
        .from(1)
        .to(65'536),
    Field{"slurm.gpu_type", string, determined, "",
          "kind of GPU that is asked for, in any case; without it any"},
    Field{"slurm.sbatch_args", strings, determined, "",
          "more options of sbatch, which come after those of train: the last one counts"},
    Field{"pbs", mapping, determined, "", "how PBS runs the trial"}.no_effect(),
    Field{"pbs.slots_per_node", integer, determined, "", "slots of a node"}.from(1),
    Field{"pbs.pbsbatch_args", strings, determined, "", "more options of qsub"},
    Field{"debug", boolean, determined, "false", "logs more"}.no_effect(),
    Field{"data_layer", open, determined, "", "ignored by Determined since 0.19.10"}.no_effect(),
    Field{"security", mapping, determined, "", "of old versions, unused"}.no_effect(),
    Field{"security.kerberos", mapping, determined, "", "of old versions, unused"},
    Field{"security.kerberos.config_file", string, determined, "", "of old versions, unused"}
        .needed(),

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
