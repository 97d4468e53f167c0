// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include "tests/contains.hpp"
#include "tests/launcher/picture/scene.hpp"

using namespace train;
using train::testing::contains;

namespace {

std::string script_of(const ExperimentConfig& experiment, const HostInventory& hosts) {
  const auto plan = make_plan(experiment, hosts);
  REQUIRE(plan);
  return plan_to_slurm(*plan);
}

ExperimentConfig packed(ExperimentConfig experiment) {
  experiment.placement = PlacementPolicy::pack;
  return experiment;
}

}  // namespace

TEST_CASE("hosts that are alike and in order are a plain job") {
  ExperimentConfig experiment = slot_experiment(16);
  experiment.name = "my \"digits\" #1";
  experiment.needs.cpus = amount(1.5);
  experiment.needs.memory = std::uint64_t{1} << 30;
  experiment.global_batch_size = 160;
  experiment.entrypoint.argv = {"python3", "it's.py"};
  CHECK(script_of(experiment, gpu_inventory({8, 8})) ==
        "#!/bin/bash\n"
        "#SBATCH --job-name=my__digits___1\n"
        "#SBATCH --nodes=2\n"
        "#SBATCH --nodelist=n[1-2]\n"
        "#SBATCH --ntasks=16\n"
        "#SBATCH --ntasks-per-node=8\n"
        "#SBATCH --gpus-per-node=8\n"
        "#SBATCH --cpus-per-task=2\n"
        "#SBATCH --mem=8192M\n"
        "# my \"digits\" #1: 16 ranks on 2 hosts, 16 slots\n"
        "# sbatch FILE [COMMAND...]: the entrypoint, or COMMAND, on every rank. What else train "
        "sets\n"
        "# for a rank is in: train plan --format env\n"
        "[ $# -gt 0 ] || set -- python3 'it'\\''s.py'\n"
        "export WORLD_SIZE=16 MASTER_ADDR=n1 MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))\n"
        "export TRAIN_GLOBAL_BATCH_SIZE=160 TRAIN_BATCH_SIZE=10\n"
        "srun --ntasks=16 --kill-on-bad-exit=1 --distribution=block --cpus-per-task=2 /bin/sh -c "
        "'\n"
        "  export RANK=\"$SLURM_PROCID\" LOCAL_RANK=\"$SLURM_LOCALID\"\n"
        "  exec \"$@\"' rank \"$@\"\n");
}

TEST_CASE("slots that only a launch knows to be GPUs are told, and no GPUs are asked for") {
  const std::string script = script_of(slot_experiment(4), inventory_of({place_host("n1", 4)}));
  CHECK_FALSE(contains(script, "\n#SBATCH --gpus"));
  CHECK(
      contains(script, "# No GPUs are asked for: whether slots are GPUs is known only when train"));
  CHECK(contains(script, "or add #SBATCH --gpus-per-node=4\n"));
  const std::string of_gpus = script_of(gpu_experiment(4, 1), inventory_of({place_host("n1", 4)}));
  CHECK(contains(of_gpus, "\n#SBATCH --gpus-per-node=4\n"));
  CHECK_FALSE(contains(of_gpus, "# No GPUs"));
  CHECK_FALSE(contains(script_of(slot_experiment(4), gpu_inventory({4})), "# No GPUs"));
}

TEST_CASE("ranks that see only their own GPUs get them from Slurm") {
  CHECK(
      contains(script_of(gpu_experiment(4, 2), gpu_inventory({8})), "#SBATCH --gpus-per-task=2\n"));
  ExperimentConfig experiment = slot_experiment(8);
  experiment.visible_devices = VisibleDevices::per_rank;
  CHECK(contains(script_of(experiment, gpu_inventory({8})), "#SBATCH --gpus-per-task=1\n"));
  CHECK(contains(script_of(gpu_experiment(4, 0.5), gpu_inventory({8})),
                 "#SBATCH --gpus-per-node=2\n"));
}

TEST_CASE("one process per host is one task, with all GPUs") {
  ExperimentConfig experiment = slot_experiment(16);
  experiment.processes = Processes::per_host;
  experiment.needs.cpus = amount(2);
  const std::string script = script_of(experiment, gpu_inventory({8, 8}));
  CHECK(contains(script,
                 "--ntasks=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n"
                 "#SBATCH --cpus-per-task=16\n"));
}

TEST_CASE("hosts in an order that is not Slurm's need a hostfile") {
  const std::string script =
      script_of(slot_experiment(4), inventory_of({gpu_host("n10", 2), gpu_host("n9", 2)}));
  CHECK(contains(script, "<<'hosts'\nn10\nn10\nn9\nn9\nhosts\n"));
  CHECK(contains(script, "srun --ntasks=4 --kill-on-bad-exit=1 --distribution=arbitrary "));
  CHECK_FALSE(contains(script, "#SBATCH --ntasks="));  // srun makes the layout
}

TEST_CASE("other numbers of ranks need a hostfile where every host has room for the most") {
  const std::string script = script_of(packed(slot_experiment(6)), gpu_inventory({4, 4}));
  CHECK(contains(script, "#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n"));
  CHECK(contains(script, "<<'hosts'\nn1\nn1\nn1\nn1\nn2\nn2\nhosts\n"));
  CHECK(contains(script_of(packed(gpu_experiment(3, 2)), gpu_inventory({4, 4})),
                 "--distribution=arbitrary --gpus-per-task=2 "));
}

TEST_CASE("hosts of other sizes are components of a heterogeneous job") {
  const std::string script = script_of(packed(slot_experiment(22)), gpu_inventory({8, 8, 4, 2}));
  CHECK(contains(script, "#SBATCH --nodelist=n[1-2]\n#SBATCH --ntasks=16\n"));
  CHECK(contains(script, "#SBATCH hetjob\n#SBATCH --nodes=1\n#SBATCH --nodelist=n3\n"));
  CHECK(contains(script, "srun --het-group=0-2 --kill-on-bad-exit=1 "));
}

TEST_CASE("batch sizes that differ are not exported") {
  ExperimentConfig experiment = slot_experiment(2);
  experiment.global_batch_size = 5;
  experiment.batch_remainder = BatchRemainder::spread;
  const std::string script = script_of(experiment, gpu_inventory({2}));
  CHECK(contains(script, "export TRAIN_GLOBAL_BATCH_SIZE=5\n"));
  CHECK_FALSE(contains(script, "TRAIN_BATCH_SIZE=2"));
}

TEST_CASE("Slurm's sets have no steps") {
  CHECK(slurm_host_set({"n1", "n3", "n5", "n7"}) == "n[1,3,5,7]");
  CHECK(slurm_host_set({"n01", "n04", "n07", "n10", "b"}) == "n[01,04,07,10],b");
  CHECK(slurm_host_set({"r1n1", "r1n2", "r2n1", "r2n2"}) == "r[1-2]n[1-2]");
  CHECK(slurm_host_set({"a"}) == "a");
}

TEST_CASE("numbers in names are sorted as numbers") {
  CHECK(slurm_sorts_before("n9", "n10"));
  CHECK(slurm_sorts_before("a10", "b1"));
  CHECK(slurm_sorts_before("n1-ib", "n2-ib"));
  CHECK_FALSE(slurm_sorts_before("n10", "n9"));
  CHECK_FALSE(slurm_sorts_before("n1", "n1"));
  CHECK(slurm_sorts_before("n", "n1"));
}
