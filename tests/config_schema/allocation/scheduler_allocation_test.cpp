// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/scheduler_allocation.hpp"

#include "config_schema/allocation/slurm_allocation.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

using Files = std::map<std::string, std::string>;

Result<std::optional<HostInventory>> read(const EnvironmentMap& environment,
                                          const Files& files = {}) {
  return read_allocation(environment, [&](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(ErrorClass::no_input, "cannot read " + path);
    return found->second;
  });
}

std::string shown(const Host& host) {
  std::string text = host.name;
  if (host.slots) text += ":" + std::to_string(*host.slots);
  if (host.accelerators)
    text += "+" + std::to_string(*host.accelerators) + "gpu" +
            (host.accelerator_type.empty() ? "" : "." + host.accelerator_type);
  for (const int index : host.device_indices) text += "#" + std::to_string(index);
  if (host.cpus) text += "/" + to_string(*host.cpus);
  return text;
}

// name[:slots][+gpus][/cpus] of each host, or the error.
std::string hosts(const EnvironmentMap& environment, const Files& files = {}) {
  const auto found = read(environment, files);
  if (!found) return render(found.error());
  if (!*found) return "none";
  std::string text;
  for (const Host& host : (*found)->hosts) {
    CHECK(host.address == host.name);
    text += (text.empty() ? "" : " ") + shown(host);
  }
  return text;
}

// A job of Slurm on n1, n2 and n3, with more variables.
EnvironmentMap slurm(EnvironmentMap more) {
  more.emplace("SLURM_JOB_NODELIST", "n[1-3]");
  return more;
}

}  // namespace

TEST_CASE("without a scheduler there is no allocation") {
  CHECK(hosts({}) == "none");
  CHECK(hosts({{"SLURM_JOB_NODELIST", ""}, {"PBS_NODEFILE", ""}}) == "none");
  CHECK(hosts({{"PBS_JOBID", "1"}, {"JOB_ID", "2"}, {"LSB_JOBID", "3"}}) == "none");
}

TEST_CASE("a rank of train has no allocation of its own") {
  CHECK(hosts(slurm({{"TRAIN_TASK_ID", "abcd"}})) == "none");
}

TEST_CASE("Slurm's counts are read") {
  using Counts = std::vector<int>;
  CHECK(*read_slurm_counts("8(x3),4") == Counts{8, 8, 8, 4});
  CHECK(*read_slurm_counts("72(x2),36") == Counts{72, 72, 36});
  CHECK(*read_slurm_counts("1") == Counts{1});
  CHECK(read_slurm_counts("2(x65536)")->size() == 65'536);
  for (const char* text : {"", "8(x3", "8(3)", "8(x0)", "0", "-1", "8(x3),", "x", "8(x3)4",
                           "1(x65536),1", "1(x99999999999)", "8 (x3)"}) {
    INFO(text);
    CHECK_FALSE(read_slurm_counts(text));
  }
}

TEST_CASE("Slurm's numbers of GPUs are read, with or without a type") {
  const auto read_gpus = [](const char* text) {
    const auto gpus = read_slurm_gpus(text);
    return gpus ? std::to_string(gpus->count) + " " + gpus->type : "error";
  };
  CHECK(read_gpus("4") == "4 ");
  CHECK(read_gpus("a100:4") == "4 a100");
  CHECK(read_gpus("a100:2,v100:1") == "3 ");
  CHECK(read_gpus("0") == "0 ");
  CHECK(read_gpus("a100") == "error");
  CHECK(read_gpus("a100:") == "error");
  CHECK(read_gpus("-1") == "error");
}

TEST_CASE("the nodes of a Slurm job are its hosts, its tasks their slots") {
  CHECK(hosts(slurm({})) == "n1 n2 n3");
  CHECK(hosts({{"SLURM_NODELIST", "n[1-2][3-4],gpu-b"}}) == "n13 n14 n23 n24 gpu-b");
  CHECK(hosts(slurm({{"SLURM_TASKS_PER_NODE", "8(x2),4"},
                     {"SLURM_JOB_CPUS_PER_NODE", "16(x2),8"}})) == "n1:8/16 n2:8/16 n3:4/8");
  CHECK(hosts(slurm({{"SLURM_NTASKS_PER_NODE", "2"}})) == "n1:2 n2:2 n3:2");
  CHECK(hosts(slurm({{"SLURM_JOB_CPUS_PER_NODE", "6(x3)"}})) == "n1:6/6 n2:6/6 n3:6/6");
}

TEST_CASE("the GPUs of a Slurm job are slots, where it is known how many each node has") {
  const std::string one_task = "1(x3)";
  const auto with = [&](EnvironmentMap more) {
    more.emplace("SLURM_TASKS_PER_NODE", one_task);
    return hosts(slurm(std::move(more)));
  };
  CHECK(with({{"SLURM_GPUS_PER_NODE", "4"}}) == "n1+4gpu n2+4gpu n3+4gpu");
  CHECK(with({{"SLURM_GPUS_PER_NODE", "a100:4"}}) == "n1+4gpu.A100 n2+4gpu.A100 n3+4gpu.A100");
  CHECK(with({{"SLURM_GPUS_PER_NODE", "tesla_v100:1"}}).find("TESLA-V100") != std::string::npos);
  CHECK(with({{"SLURM_GPUS_ON_NODE", "2"}}) == "n1+2gpu n2+2gpu n3+2gpu");
  CHECK(with({{"SLURM_JOB_GPUS", "0,2-3"}}) == "n1+3gpu n2+3gpu n3+3gpu");
  CHECK(with({{"SLURM_GPUS", "6"}, {"SLURM_GPUS_ON_NODE", "2"}}) == "n1+2gpu n2+2gpu n3+2gpu");
  CHECK(with({{"SLURM_GPUS_ON_NODE", "0"}}) == "n1:1+0gpu n2:1+0gpu n3:1+0gpu");
  CHECK(hosts({{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_GPUS", "h100:8"}}) == "n1+8gpu.H100");
  CHECK(hosts(slurm({{"SLURM_TASKS_PER_NODE", "2(x2),1"}, {"SLURM_GPUS_PER_TASK", "2"}})) ==
        "n1+4gpu n2+4gpu n3+2gpu");
}

TEST_CASE("GPUs that Slurm may have shared out unevenly are not guessed") {
  const auto found = read(
      slurm({{"SLURM_GPUS", "6"}, {"SLURM_GPUS_ON_NODE", "3"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}}));
  REQUIRE(found);
  CHECK((*found)->hosts[0].slots == 2);
  CHECK_FALSE((*found)->hosts[0].accelerators);
  REQUIRE((*found)->warnings.size() == 1);
  CHECK((*found)->warnings[0].message.find("6 GPUs on 3 hosts") == 0);
}

TEST_CASE("a job without GPUs gets none of its nodes") {
  const auto on_node = [](EnvironmentMap more) {
    more.emplace("SLURMD_NODENAME", "n1");
    return hosts(slurm(std::move(more)));
  };
  CHECK(on_node({{"SLURM_NTASKS_PER_NODE", "2"}}) == "n1:2+0gpu n2:2+0gpu n3:2+0gpu");
  CHECK((*read(slurm({{"SLURMD_NODENAME", "n1"}})))->hosts[2].slot_type == SlotType::cpu);
  CHECK(on_node({{"SLURM_GPUS_ON_NODE", "2"}}) == "n1+2gpu n2+2gpu n3+2gpu");
  // How many GPUs each host has is not known here.
  CHECK(on_node({{"SLURM_GPUS", "7"}, {"SLURM_NTASKS_PER_NODE", "2"}}) == "n1:2 n2:2 n3:2");
}

TEST_CASE("hosts of a Slurm job are reached by steps of it") {
  const auto command = [](EnvironmentMap environment, std::size_t host) {
    const auto found = read(environment);
    std::string line;
    for (const std::string& word : (*found)->hosts.at(host).command)
      if (word.starts_with("--gpus") || word.starts_with("--het") || word.starts_with("--job") ||
          !word.starts_with("--"))
        line += word + " ";
    return line;
  };
  CHECK(command(slurm({{"SLURM_JOB_ID", "77"}}), 2) == "srun --jobid=77 --job-name=train ");
  CHECK(command(slurm({{"SLURM_JOB_ID", "77"}, {"SLURM_GPUS_PER_NODE", "a100:4"}}), 0) ==
        "srun --jobid=77 --job-name=train --gpus=4 ");
  CHECK(command({{"SLURM_JOB_ID", "77"},
                 {"SLURM_JOB_NODELIST", "n1"},
                 {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                 {"SLURM_JOB_NODELIST_HET_GROUP_1", "m[1-2]"},
                 {"SLURM_GPUS_PER_NODE_HET_GROUP_1", "2"}},
                2) == "srun --jobid=77 --het-group=1 --job-name=train --gpus=2 ");
  CHECK(command(slurm({}), 0).empty());
  CHECK(command(slurm({{"SLURM_JOB_ID", "7; rm"}}), 0).empty());
  CHECK(slurm_job_of((*read(slurm({{"SLURM_JOB_ID", "77"}})))->hosts[1]) == "77");
  CHECK(slurm_job_of((*read(slurm({})))->hosts[1]).empty());
}

TEST_CASE("what Slurm says of the job settles how many GPUs each host has") {
  const auto settled = [](EnvironmentMap environment, const std::string& job) {
    environment.emplace("SLURM_JOB_ID", "77");
    HostInventory found = **read(slurm(std::move(environment)));
    REQUIRE(may_have_more_gpus(found));
    settle_gpus(job, found);
    std::string text;
    for (const Host& host : found.hosts) text += shown(host) + " " + host.command.back() + "; ";
    return text + std::to_string(found.warnings.size());
  };
  const std::string job =
      "JobId=77 NodeList=n[1-3] JOB_GRES=gpu:a100:6,gpu:1   Nodes=n[1-2] CPU_IDs=0 Mem=1000 "
      "GRES=gpu:a100:4(IDX:0,2-4),tpu:2   Nodes=n3 CPU_IDs=0 Mem=1000 GRES=gpu:1(IDX:0) Power= \n";
  CHECK(settled({{"SLURM_NTASKS_PER_NODE", "2"}}, job) ==
        "n1+4gpu.A100 --gpus=4; n2+4gpu.A100 --gpus=4; n3+1gpu --gpus=1; 0");
  CHECK(settled({{"SLURM_GPUS", "9"}, {"SLURM_NTASKS_PER_NODE", "2"}}, job) ==
        "n1+4gpu.A100 --gpus=4; n2+4gpu.A100 --gpus=4; n3+1gpu --gpus=1; 0");
  const std::string mixed =
      "JobId=77 Nodes=n1 GRES=gpu:a100:1(IDX:0),gpu:v100:2(IDX:1-2) Nodes=n[2-3] CPU_IDs=0 GRES=\n";
  CHECK(settled({{"SLURM_NTASKS_PER_NODE", "2"}}, mixed) ==
        "n1+3gpu --gpus=3; n2:2+0gpu --job-name=train; n3:2+0gpu --job-name=train; 0");
  // Nothing that helps: what was known stays.
  for (const char* said : {"", "slurm_load_jobs error: Invalid job id specified",
                           "Nodes=n[1- GRES=gpu:4", "GRES=gpu:4 Nodes=other GRES=gpu:2"})
    CHECK(settled({{"SLURM_GPUS", "7"}, {"SLURM_NTASKS_PER_NODE", "2"}}, said) ==
          "n1:2 --job-name=train; n2:2 --job-name=train; n3:2 --job-name=train; 1");
}

TEST_CASE("the tasks of a job step are not those of the job") {
  const EnvironmentMap step = {{"SLURM_STEP_ID", "0"},
                               {"SLURM_STEP_NODELIST", "n1"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_TASKS_PER_NODE", "1"},
                               {"SLURM_JOB_CPUS_PER_NODE", "16(x3)"}};
  CHECK(hosts(slurm(step)) == "n1:16/16 n2:16/16 n3:16/16");
  EnvironmentMap wide = step;
  wide["SLURM_CPUS_PER_TASK"] = "4";
  CHECK(hosts(slurm(wide)) == "n1:4/16 n2:4/16 n3:4/16");
  EnvironmentMap bare = step;
  bare.erase("SLURM_JOB_CPUS_PER_NODE");
  CHECK(hosts(slurm(bare)) == "n1 n2 n3");
}

TEST_CASE("only the first task of a step may launch") {
  const auto found = read(slurm({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"}}));
  REQUIRE_FALSE(found);
  CHECK(found.error().error_class == ErrorClass::usage);
  CHECK(found.error().diagnostics[0].message.find("task 3 of a job step") != std::string::npos);
}

TEST_CASE("the components of a heterogeneous job follow one another") {
  CHECK(hosts({{"SLURM_HET_SIZE", "2"},
               {"SLURM_JOB_NODELIST", "n1"},
               {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
               {"SLURM_JOB_NODELIST_HET_GROUP_1", "m[1-2]"},
               {"SLURM_TASKS_PER_NODE", "4"},
               {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "4"},
               {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "2(x2)"},
               {"SLURM_GPUS_ON_NODE", "8"}}) == "n1+8gpu m1:2 m2:2");
}

TEST_CASE("the lines of a PBS node file are slots") {
  const Files files = {{"nodes", "n2\nn2\nn1\nn2\nn1\n\n"}, {"once", "n1\r\nn2\r\n"}};
  CHECK(hosts({{"PBS_NODEFILE", "nodes"}}, files) == "n2:3 n1:2");
  CHECK(hosts({{"PBS_NODEFILE", "nodes"}, {"PBS_NUM_PPN", "8"}}, files) == "n2:3 n1:2");
  CHECK(hosts({{"PBS_NODEFILE", "once"}, {"PBS_NUM_PPN", "8"}}, files) == "n1:8 n2:8");
  CHECK(hosts({{"PBS_NODEFILE", "once"}}, files) == "n1:1 n2:1");
}

TEST_CASE("Torque says which GPUs the job has") {
  const Files files = {{"nodes", "n1\nn1\nn2\n"}, {"gpus", "n1-gpu3\nn1-gpu1\nn2-gpu0\nn2-gpu0\n"}};
  CHECK(hosts({{"PBS_NODEFILE", "nodes"}, {"PBS_GPUFILE", "gpus"}}, files) ==
        "n1+2gpu#3#1 n2+1gpu#0");
}

TEST_CASE("LSF's lists are read") {
  const Files files = {{"hosts", "b1\nn1\nn1\nn2\nn2\n"}};
  CHECK(hosts({{"LSB_DJOB_HOSTFILE", "hosts"}, {"LSB_MCPU_HOSTS", "x 1"}}, files) ==
        "b1:1 n1:2 n2:2");
  CHECK(hosts({{"LSB_MCPU_HOSTS", "n1 16 n2 8 "}}) == "n1:16 n2:8");
  CHECK(hosts({{"LSB_HOSTS", "n1 n1 n2"}}) == "n1:2 n2:1");
}

TEST_CASE("the host of the job script is left out where LSF runs on CSM") {
  const Files files = {{"hosts", "b1\nn1\nn1\n"}, {"one", "n1\nn1\nn2\nn2\n"}};
  const auto found = read({{"LSB_DJOB_HOSTFILE", "hosts"}, {"CSM_ALLOCATION_ID", "5"}}, files);
  REQUIRE(found);
  CHECK((*found)->hosts.size() == 1);
  REQUIRE((*found)->warnings.size() == 1);
  CHECK((*found)->warnings[0].message.find("'b1' runs the job script") == 0);
  CHECK(hosts({{"LSB_DJOB_HOSTFILE", "one"}, {"CSM_ALLOCATION_ID", "5"}}, files) == "n1:2 n2:2");
}

TEST_CASE("Grid Engine's host file is read; lines of one host add up") {
  const Files files = {{"pe",
                        "n1.lab 16 all.q@n1.lab UNDEFINED\nn2.lab 8 all.q@n2.lab <NULL>\n"
                        "n1.lab 4 short.q@n1.lab UNDEFINED\n"}};
  CHECK(hosts({{"PE_HOSTFILE", "pe"}}, files) == "n1.lab:20 n2.lab:8");
}

TEST_CASE("the first scheduler counts, and the others are named") {
  const Files files = {{"nodes", "m1\n"}};
  const auto found = read(slurm({{"PBS_NODEFILE", "nodes"}, {"PE_HOSTFILE", "gone"}}), files);
  REQUIRE(found);
  CHECK((*found)->hosts.size() == 3);
  REQUIRE((*found)->warnings.size() == 2);
  CHECK((*found)->warnings[0].place.source == "$PBS_NODEFILE");
  CHECK((*found)->warnings[1].place.source == "$PE_HOSTFILE");
}

TEST_CASE("what was used is named, with the job") {
  CHECK((*read(slurm({{"SLURM_JOB_ID", "77"}})))->source == "Slurm job 77 ($SLURM_JOB_NODELIST)");
  CHECK((*read({{"SLURM_NODELIST", "n1"}}))->source == "Slurm job ($SLURM_NODELIST)");
  CHECK((*read({{"LSB_HOSTS", "n1"}, {"LSB_JOBID", "9"}}))->source == "LSF job 9 ($LSB_HOSTS)");
}

TEST_CASE("a file that cannot be read is an error that names the variable") {
  for (const char* name : {"PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"}) {
    const auto found = read({{name, "gone"}});
    REQUIRE_FALSE(found);
    CHECK(found.error().error_class == ErrorClass::no_input);
    CHECK(render(found.error()) == std::string("$") + name + ": cannot read gone");
  }
}

TEST_CASE("more hosts than the bound are refused") {
  std::string lines;
  for (int i = 0; i <= 65'536; ++i) lines += "n" + std::to_string(i) + "\n";
  const auto found = read({{"PBS_NODEFILE", "f"}}, {{"f", lines}});
  REQUIRE_FALSE(found);
  CHECK(found.error().diagnostics[0].place.line == 65'537);
}
