// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/session_variables.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("a host's list of AMD devices rules out lists within it") {
  const auto ruled_out = ruled_out_by("ROCR_VISIBLE_DEVICES", "0");
  CHECK(std::vector<std::string_view>(ruled_out.begin(), ruled_out.end()) ==
        std::vector<std::string_view>{"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                      "GPU_DEVICE_ORDINAL"});
  CHECK(ruled_out_by("CUDA_VISIBLE_DEVICES", "").empty());
  CHECK(ruled_out_by("CUDA_VISIBLE_DEVICES", "2,3").front() == "ROCR_VISIBLE_DEVICES");
}

TEST_CASE("leftovers of other launchers are scrubbed") {
  for (const char* name :
       {"SLURM_JOB_ID", "SLURMD_NODENAME", "SRUN_DEBUG", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
        "TORCHELASTIC_RUN_ID", "PMI2_FD", "PMIX_RANK", "PRTE_LAUNCHED", "MV2_COMM_WORLD_RANK"})
    CHECK(is_scrubbed(name));
  for (const char* name : {"PATH", "SLURM", "MY_SLURM_JOB", "RANK", "PMI", "PMIX", "slurm_job_id",
                           "HOROVOD_FUSION_THRESHOLD", "NCCL_DEBUG", ""})
    CHECK_FALSE(is_scrubbed(name));
}
