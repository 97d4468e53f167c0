// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/slurm_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launcher/placement/placement.hpp"
#include "tests/contains.hpp"
#include "tests/launcher/picture/scene.hpp"

using namespace train;
using train::testing::contains;

namespace {

// The nodes of a partition: GPUs, CPUs and memory of each.
HostInventory nodes(int count, int gpus, int cpus) {
  std::vector<Host> hosts;
  for (int i = 1; i <= count; ++i) {
    Host host = gpu_host(fmt::format("n{}", i), gpus);
    host.cpus = Quantity::of(cpus);
    host.memory = std::uint64_t{64} << 30;
    if (gpus == 0) host.slots = cpus;
    hosts.push_back(std::move(host));
  }
  return inventory_of(std::move(hosts));
}

std::string options_of(const ExperimentConfig& experiment, const HostInventory& hosts,
                       const SlurmJob& job = {}) {
  const auto plan = make_plan(experiment, hosts);
  REQUIRE(plan);
  std::string text;
  for (const std::string& option : slurm_job_options(*plan, job))
    if (!option.starts_with("--job-name") && option != "--no-requeue" && option != "--export=ALL" &&
        !option.starts_with("--output"))
      text += (text.empty() ? "" : " ") + option;
  return text;
}

}  // namespace

TEST_CASE("a job asks for the nodes, GPUs and CPUs that its plan takes") {
  ExperimentConfig experiment = gpu_experiment(8, 1);
  experiment.needs.cpus = {};
  CHECK(options_of(experiment, nodes(4, 4, 64),
                   {.partition = "gpu", .gpu_type = "a100", .cpus_per_gpu = 16}) ==
        "--partition=gpu --nodes=2 --ntasks-per-node=4 --cpus-per-task=16 --gpus-per-node=a100:4");
  // A share of the node's CPUs, as large as that of its GPUs.
  ExperimentConfig small = gpu_experiment(1, 1);
  small.needs.cpus = {};
  CHECK(options_of(small, nodes(4, 4, 64), {.cpus_per_gpu = 16}) ==
        "--nodes=1 --ntasks-per-node=1 --cpus-per-task=16 --gpus-per-node=1");
}

TEST_CASE("named CPUs and memory are asked for, those of Ray's trainer too") {
  ExperimentConfig experiment = cpu_experiment(3, 2);
  experiment.needs.memory = std::uint64_t{1} << 30;
  CHECK(options_of(experiment, nodes(1, 0, 16)) ==
        "--nodes=1 --ntasks-per-node=3 --cpus-per-task=2 --mem=3072M");
  experiment.trainer.cpus = Quantity::of(1);
  CHECK(options_of(experiment, nodes(1, 0, 16)) ==
        "--nodes=1 --ntasks-per-node=3 --cpus-per-task=3 --mem=3072M");
}

TEST_CASE("a search asks for room for the trials that run at once") {
  ExperimentConfig experiment = gpu_experiment(2, 1);
  experiment.needs.cpus = Quantity::of(1);
  experiment.search = {.trials = 16, .most_at_once = 5};
  // Two trials on each node of four GPUs.
  CHECK(options_of(experiment, nodes(8, 4, 64)) ==
        "--nodes=3 --ntasks-per-node=4 --cpus-per-task=1 --gpus-per-node=4");
  // One trial needs two nodes.
  ExperimentConfig large = gpu_experiment(8, 1);
  large.needs.cpus = Quantity::of(1);
  large.search = {.trials = 16, .most_at_once = 3};
  CHECK(options_of(large, nodes(8, 4, 64)) ==
        "--nodes=6 --ntasks-per-node=4 --cpus-per-task=1 --gpus-per-node=4");
}

TEST_CASE("a task of limited time ends before Slurm ends its job") {
  using namespace std::chrono_literals;
  ExperimentConfig experiment = cpu_experiment(1, 1);
  experiment.max_runtime = 90s;
  CHECK(contains(options_of(experiment, nodes(1, 0, 4)), " --time=3"));
  CHECK(contains(options_of(experiment, nodes(1, 0, 4), {.limit = 2min}), " --time=2"));
  experiment.max_runtime.reset();
  CHECK_FALSE(contains(options_of(experiment, nodes(1, 0, 4), {.limit = 2min}), "--time"));
}

TEST_CASE("the launcher is warned where ranks take longer to stop than Slurm waits") {
  using namespace std::chrono_literals;
  ExperimentConfig experiment = cpu_experiment(1, 1);
  experiment.max_runtime = 1h;
  CHECK_FALSE(contains(options_of(experiment, nodes(1, 0, 4)), "--signal"));
  experiment.stop_notice = 60s;
  CHECK(contains(options_of(experiment, nodes(1, 0, 4)), " --signal=B:USR1@80"));
  CHECK(contains(options_of(experiment, nodes(1, 0, 4), {.limit = 2min}), " --signal=B:USR1@30"));
  // Nothing says when a job of the partition's own limit ends.
  experiment.max_runtime.reset();
  CHECK_FALSE(contains(options_of(experiment, nodes(1, 0, 4), {.limit = 2min}), "--signal"));
}

TEST_CASE(
    "the job of a task that may be restarted goes back into the queue before its time is over") {
  using namespace std::chrono_literals;
  ExperimentConfig experiment = cpu_experiment(1, 1);
  CHECK_FALSE(contains(options_of(experiment, nodes(1, 0, 4), {.limit = 60min}), "requeue"));
  experiment.max_restarts = 1;
  const std::string options = options_of(experiment, nodes(1, 0, 4), {.limit = 60min});
  CHECK(contains(options, " --requeue"));
  CHECK(contains(options, " --signal=B:USR1@20"));
  CHECK(contains(options_of(experiment, nodes(1, 0, 4)), " --signal=B:USR1@20"));
  CHECK(contains(options_of(experiment, nodes(1, 0, 4), {.limit = 1min}), " --signal=B:USR1@15"));
  experiment.max_runtime = 1h;  // then its time is over
  CHECK_FALSE(contains(options_of(experiment, nodes(1, 0, 4), {.limit = 61min}), "--signal"));
}

TEST_CASE("the options of the experiment count, and nodes can be left out") {
  ExperimentConfig experiment = cpu_experiment(1, 1);
  experiment.slurm.sbatch_args = {"--account=physics", "--comment=it's mine"};
  const std::string options =
      options_of(experiment, nodes(1, 0, 4), {.task = "k3wq", .excluded = {"n7", "n8"}});
  CHECK(options.ends_with("--comment=it's mine"));
  CHECK(contains(options, "--exclude=n[7-8]"));
  CHECK(contains(options, "--comment=train:k3wq"));
}

TEST_CASE("the script of a job quotes what it is given") {
  CHECK(slurm_directives({"--nodes=2", "--comment=a b", "-A", "physics"}) ==
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH '--comment=a b'\n#SBATCH -A physics\n");
  const std::string body =
      slurm_job_body({.program = "/opt/my train",
                      .directory = "/data/it's",
                      .output = "/home/ann/.local/state/train/jobs/k3wq.out",
                      .words = {"launch", "--in-job", "k3wq", "--events", "a b"},
                      .input = R"({"config":"$HOME"})"});
  CHECK(contains(body, "program='/opt/my train'\n"));
  CHECK(contains(body, "cd '/data/it'\\''s' || exit 72\n"));
  CHECK(contains(body,
                 "exec \"$program\" launch --in-job k3wq --events 'a b' <<'request'\n"
                 "{\"config\":\"$HOME\"}\nrequest\n"));
  CHECK(contains(body, "copy=/tmp/.train-program-$SLURM_JOB_ID\n"));
}
