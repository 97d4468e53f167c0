// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "config_schema/fields/field_table.hpp"

namespace train {

namespace {

using enum FieldType;
using enum FieldSource;

constexpr Field what_runs[] = {
    Field{"name", string, determined, "",
          "what messages and tables call the experiment; default: the file's name"},
    Field{"description", string, determined, "", "a line for people about the experiment"},
    Field{"entrypoint", string | strings, determined, "",
          "what each rank runs: a line for /bin/sh, or a list of words run as they are"},
    Field{"setup", string, train, "",
          "a line for /bin/sh that one rank of each host runs before all of them run entrypoint"},
    Field{
        "on_event", string, train, "",
        "a line for /bin/sh that the launcher's machine runs for each event of the task, with the "
        "event as JSON on standard input"},
    Field{"processes", string, train, "per_rank",
          "one process for each rank, or one on each host, such as torchrun"}
        .one_of("per_rank|per_host"),
    Field{"working_directory", string, train, "",
          "the folder the ranks run in, on every host; relative to the launcher's, or to the "
          "context"},
    Field{"framework", string, train, "torch", "which rendezvous variables the ranks get"}
        .one_of("torch|jax|tensorflow|deepspeed|none")
        .later_ones("horovod|mpi"),
    Field{"backend", string, train, "auto",
          "the collective library, in TRAIN_BACKEND; auto: nccl on whole GPUs, else gloo"}
        .one_of("auto|nccl|gloo|mpi|ucc"),
    Field{"visible_devices", string, train, "auto",
          "GPUs a rank sees: shared: all of the trial on its host; per_rank: its own"}
        .one_of("auto|shared|per_rank"),
    Field{"environment", mapping, determined, "",
          "variables of every rank, and Determined's settings of the container"},
    Field{"environment.variables", mapping, train, "",
          "NAME: value; null stands for the launcher's value, which is never shown"}
        .read_apart(),
    Field{"environment.variables.*", string | number | boolean, train, "",
          "the value of one variable"},
    Field{"environment.environment_variables", strings | mapping, determined, "",
          "list of NAME=VALUE (NAME alone: the launcher's value), or such lists by device"}
        .read_apart(),
    Field{"environment.environment_variables.cpu", strings | mapping, determined, "",
          "variables of a trial without slots"},
    Field{"environment.environment_variables.cuda", strings | mapping, determined, "",
          "variables of a trial with slots"},
    Field{"environment.environment_variables.rocm", strings | mapping, determined, "",
          "variables of a trial on AMD GPUs: not read, since train knows none yet"},
    Field{"environment.environment_variables.gpu", strings | mapping, determined, "",
          "the old name of cuda"},
    Field{"environment.environment_variables.*", string | number | boolean, train, "",
          "the value of one variable"},
    Field{"secrets", strings, train, "[]",
          "names of variables that the ranks get from the launcher, which are never shown"}
        .read_apart(),
    Field{"forward_environment", strings, train,
          "[PATH, VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH, LD_LIBRARY_PATH]",
          "variables that the ranks get from the launcher, where it has them; []: none"},
    Field{"data", open, determined, "{}",
          "what the ranks get as JSON, in TRAIN_DATA; if it is long, in a file: TRAIN_DATA_FILE"},
    Field{"hyperparameters", mapping, determined, "{}",
          "values for the ranks, as JSON in TRAIN_HPARAMS or TRAIN_HPARAMS_FILE, and ranges to "
          "search"},
    Field{"hyperparameters.*", any, determined, "",
          "a plain value, a group of hyperparameters, or what a search chooses from"}
        .hyperparameter(),
    Field{"hyperparameters.global_batch_size", integer, determined, "",
          "samples of one training step, over all ranks"}
        .hyperparameter()
        .twin_of("global_batch_size")
        .from(1)
        .to(most_samples),
    Field{"global_batch_size", integer, train, "", "samples of one training step, over all ranks"}
        .from(1)
        .to(most_samples),
    Field{"metrics", mapping, train, "", "what counts of what ranks report"},
    Field{
        "metrics.ranks", string, train, "first",
        "of which ranks of a trial a search takes the reports: of rank 0, or of all, as they come"}
        .one_of("first|all"),
    Field{
        "metrics.pattern", string | strings, train, "",
        "a regular expression with named groups, or a list of them: what it finds in a line that a "
        "rank prints is a report"},
    Field{"hosts", any, train, "",
          "write hosts in a file of their own, and name it with --hostfile"}
        .forbidden(),
    Field{"task_container_defaults", any, determined, "",
          "it belongs to Determined's master; dtrain_network_interface is 'interface' in a hosts "
          "file"}
        .forbidden(),
    Field{"dtrain_network_interface", any, determined, "",
          "write it as 'interface' in a hosts file: under 'defaults', or for each host"}
        .forbidden(),
};

constexpr Field what_it_needs[] = {
    Field{"resources", mapping, determined, "", "what one trial takes, and where"},
    Field{"resources.slots_per_trial", integer, determined, "",
          "slots of the trial; 0: one worker on CPUs; default: one worker"}
        .from(0)
        .to(most_workers),
    Field{"slots_per_trial", integer, determined, "", "slots of the trial"}
        .twin_of("resources.slots_per_trial")
        .from(0)
        .to(most_workers),
    Field{"resources.num_workers", integer, ray, "", "ranks of the trial"}.from(1).to(most_workers),
    Field{"num_workers", integer, ray, "", "ranks of the trial"}
        .twin_of("resources.num_workers")
        .from(1)
        .to(most_workers),
    Field{"resources.resources_per_worker", mapping, ray, "", "what one worker takes from its host"}
        .read_apart(),
    Field{"resources.resources_per_worker.CPU", number, ray, "", "CPUs; counted, not enforced"}
        .from(0)
        .to(most_of_one),
    Field{"resources.resources_per_worker.GPU", number, ray, "",
          "GPUs; below 1, workers share one; above 1 it must be whole"}
        .from(0)
        .to(most_of_one),
    Field{"resources.resources_per_worker.TPU", number, ray, "", "TPU chips: 1, 2, 4 or 8"}
        .from(0)
        .to(most_of_one),
    Field{"resources.resources_per_worker.memory", bytes, ray, "",
          "bytes, or a size such as 16GiB; counted, not enforced"},
    Field{"resources.resources_per_worker.*", number, ray, "",
          "a resource of any other name, which hosts declare"}
        .from(0)
        .to(most_of_one),
    Field{"resources_per_worker", mapping, ray, "", "what one worker takes from its host"}
        .twin_of("resources.resources_per_worker")
        .read_apart(),
    Field{"resources_per_worker.CPU", number, ray, "", "CPUs; counted, not enforced"}.from(0).to(
        most_of_one),
    Field{"resources_per_worker.GPU", number, ray, "",
          "GPUs; below 1, workers share one; above 1 it must be whole"}
        .from(0)
        .to(most_of_one),
    Field{"resources_per_worker.TPU", number, ray, "", "TPU chips: 1, 2, 4 or 8"}.from(0).to(
        most_of_one),
    Field{"resources_per_worker.memory", bytes, ray, "",
          "bytes, or a size such as 16GiB; counted, not enforced"},
    Field{"resources_per_worker.*", number, ray, "",
          "a resource of any other name, which hosts declare"}
        .from(0)
        .to(most_of_one),
    Field{"resources.placement", string, train, "auto",
          "how ranks are laid on hosts; default with scaling_config: pack, of a command without a "
          "file: in_order"}
        .one_of("auto|in_order|pack|spread|strict_pack|strict_spread"),
    Field{"resources.allow_heterogeneous", boolean, train, "false",
          "whole hosts of different sizes may be mixed in one trial"},
    Field{"resources.is_single_node", boolean, determined, "false",
          "the whole trial runs on one host, or not at all"},
    Field{"resources.batch_remainder", string, train, "drop",
          "an uneven batch: drop the rest, spread it over the first ranks, or refuse it"}
        .one_of("drop|spread|error"),
    Field{"resources.batch_split", string, train, "even",
          "equal batches for all ranks, or batches by the weights of their hosts"}
        .one_of("even|weighted"),
    Field{"resources.resource_pool", string, determined, "", "only hosts whose 'pool' is this"},
    Field{"resources.max_slots", integer, determined, "",
          "most slots that all trials may take at once"}
        .from(0)
        .to(1'000'000'000),
    Field{"resources.priority", integer, determined, "42",
          "who comes first of one user's tasks that wait for the same slots: 1 before 99"}
        .from(1)
        .to(99),
    Field{"resources.weight", number, determined, "1", "share in Determined's fair-share scheduler"}
        .no_effect(),
    Field{"resources.shm_size", integer | string, determined, "",
          "size of the container's /dev/shm"}
        .like(FieldPattern::memory_size)
        .no_effect(),
    Field{"resources.devices", list, determined, "", "devices of the host that the container sees"}
        .no_effect(),
    Field{"resources.devices[]", mapping | string, determined, "",
          "one device: HOST_PATH:CONTAINER_PATH:MODE, or these as keys"}
        .like(FieldPattern::device),
    Field{"resources.devices[].host_path", string, determined, "", "path of the device on the host"}
        .needed(),
    Field{"resources.devices[].container_path", string, determined, "",
          "path of the device in the container"}
        .needed(),
    Field{"resources.devices[].mode", string, determined, "mrw",
          "what the container may do: m (make nodes), r (read), w (write)"},
    Field{"resources.native_parallel", boolean, determined, "false", "of trials of old versions"}
        .no_effect(),
    Field{"resources.agent_label", string, determined, "", "which agents of old clusters run it"}
        .no_effect(),
    Field{"resources.slots", integer, determined, "",
          "of commands, not of experiments: write slots_per_trial"}
        .for_people(),
    Field{"optimizations", mapping, determined, "",
          "how gradients are exchanged; the script does it, from its environment"},
    Field{"optimizations.aggregation_frequency", integer, determined, "1",
          "batches between exchanges of gradients, in TRAIN_AGGREGATION_FREQUENCY"}
        .from(1)
        .to(1'000'000),
};

constexpr Field what_others_leave[] = {
    Field{"leases", string, train, "auto",
          "auto: hosts hold what the trial takes of them for it alone, and refuse it while others "
          "hold it; none: it is started beside whatever runs there, as where a scheduler gives out "
          "slots"}
        .one_of("auto|none"),
    Field{"allow_busy", boolean, train, "false",
          "GPUs are taken although processes outside of train compute on them"},
};

constexpr Field how_hosts_meet[] = {
    Field{"network", string, train, "auto",
          "auto: hosts of one trial look which of each other they reach, and by which network, "
          "before its ranks start: these are told, and what is not reached is refused; none: they "
          "do not look"}
        .one_of("auto|none"),
};

constexpr Field where_it_runs[] = {
    Field{
        "engine", string, train, "ssh",
        "what gives hosts: ssh: the user names them, and train reaches them itself; slurm: Slurm, "
        "by a job that train submits and launches in; in a job of it both are the same"}
        .one_of("ssh|slurm"),
};

constexpr Field how_it_ends[] = {
    Field{"max_restarts", integer, determined, "0",
          "how often the whole trial is started again after a failure"}
        .from(0)
        .to(1'000'000),
    Field{"restart_delay", duration, train, "1s",
          "time before the first restart; twice as long before each further one, up to a minute"}
        .from(0)
        .to(3'600),
    Field{"max_runtime", duration, train, "",
          "time that the whole task may take from the first start of its ranks, restarts included; "
          "then they are stopped, and launch exits with 124; 0: any"},
    Field{"stop_signal", string, train, "TERM",
          "signal by which ranks are stopped, with or without SIG"}
        .one_of("TERM|INT|HUP|QUIT|USR1|USR2|ALRM|XCPU|"
                "SIGTERM|SIGINT|SIGHUP|SIGQUIT|SIGUSR1|SIGUSR2|SIGALRM|SIGXCPU"),
    Field{"stop_notice", duration, train, "0s",
          "time from the file $TRAIN_STOP_FILE, which appears when ranks are to stop, to the stop "
          "signal"}
        .from(0)
        .to(86'400),
    Field{"stop_grace", duration, train, "10s",
          "time from the stop signal to SIGKILL when ranks are stopped"},
    Field{"cpu_binding", string, train, "none",
          "cores that a rank runs on: all that the session may use, those of the NUMA node or "
          "socket of its GPUs, or a share of that node for itself; auto: only where that gains"}
        .one_of("none|auto|node|socket|exclusive"),
    Field{"wait_for_gpu", boolean | mapping, train, "",
          "whether the start of ranks waits until the memory of their GPUs is free; without it for "
          "50 s at most, and only for GPUs that have just been used"},
    Field{"wait_for_gpu.target_util", number, train, "",
          "the share of a GPU's memory that may be in use; default: 0.01"}
        .from(0)
        .to(1),
    Field{"wait_for_gpu.retry", integer, train, "",
          "times delay_s: how long the start waits; 0: it does not; default: 20"}
        .from(0)
        .to(10'000),
    Field{"wait_for_gpu.delay_s", number, train, "", "seconds, times retry; default: 5"}.from(0).to(
        3'600),
    Field{
        "hang_timeout", duration, train, "",
        "stops a trial, or starts it again, when for so long no rank has printed, reported metrics "
        "or touched $TRAIN_HEARTBEAT_FILE"}
        .from(1)
        .to(366 * 86'400),
    Field{"hang_stacks", boolean, train, "false",
          "lets every Python process of the ranks tell its stack when they hang"},
    Field{"max_no_progress", integer, train, "",
          "ends the task after so many attempts in a row without a new file in its checkpoint "
          "folder or a report of metrics; 0: restarts go on"}
        .from(0)
        .to(1'000'000),
    Field{"stop_on_same_cause", boolean, train, "false",
          "ends the task when an attempt fails as the one before it, and both came to nothing"},
    Field{"on_launcher_loss", string | duration, train, "",
          "what ranks do when their launcher is gone: they stop after 5 s (the default while train "
          "is in the foreground), go on until somebody attaches to the task or kills it (the "
          "default with -d), or go on for so long"}
        .one_of("stop|continue")
        .from(10)
        .to(7 * 86'400),
    Field{"reconnect_window", duration, train, "60s",
          "how long a host may be out of reach while its ranks run; 0: not at all"}
        .from(10)
        .to(86'400),
    Field{"blame_limit", integer, train, "2",
          "in how many attempts ranks of a host may fail first before it is left out, where other "
          "hosts have room; 0: any number"}
        .from(0)
        .to(1'000),
    Field{"replace", string, train, "proven",
          "when a spare host takes the place of one that is lost: once the ranks there must have "
          "ended, or at once, beside ranks that may still run there"}
        .one_of("proven|at_once"),
    Field{"spare_hosts", integer, train, "",
          "how many hosts beside those of the plan may take the place of failed ones: the first of "
          "the inventory; default: all"}
        .from(0)
        .to(most_workers),
    Field{"min_slots_per_trial", integer, train, "",
          "with how few slots the trial may go on where hosts have failed and no others take their "
          "place; it grows again at a restart at which they are there"}
        .from(1)
        .to(most_workers),
    Field{"log_limit", bytes, train, "",
          "output that is kept of a rank, with its index; the oldest goes; 16KiB at least"},
    Field{"spool_overflow", string, train, "",
          "what becomes of output where neither the launcher nor the host has room for it: ranks "
          "wait (the default while train is in the foreground), or it is dropped and counted (the "
          "default with -d)"}
        .one_of("block|drop"),
};

template <std::size_t N>
void append(std::vector<Field>& all, const Field (&fields)[N]) {
  all.insert(all.end(), fields, fields + N);
}

std::vector<Field> all_fields() {
  std::vector<Field> all;
  append(all, what_runs);
  append(all, what_it_needs);
  append(all, what_others_leave);
  append(all, how_hosts_meet);
  append(all, where_it_runs);
  all.insert(all.end(), ray_fields().begin(), ray_fields().end());
  append(all, how_it_ends);
  for (const auto fields : {searcher_fields(), tune_fields(), determined_fields()})
    all.insert(all.end(), fields.begin(), fields.end());
  return all;
}

}  // namespace

const FieldTable& experiment_fields() {
  static const std::vector<Field> all = all_fields();
  static const FieldTable table(all);
  return table;
}

}  // namespace train
