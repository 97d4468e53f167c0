// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/accelerators.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("the accelerator type is derived from the driver's name") {
  struct Row {
    const char* name;
    const char* type;
  };
  const auto row = GENERATE(values<Row>({
      {"NVIDIA A100-SXM4-40GB", "A100"},
      {"NVIDIA A100-SXM4-80GB", "A100"},
      {"NVIDIA A100 80GB PCIe", "A100"},
      {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100"},
      {"A100-SXM4-40GB", "A100"},
      {"NVIDIA H100 80GB HBM3", "H100"},
      {"NVIDIA H100 PCIe", "H100"},
      {"NVIDIA H100 NVL", "H100"},
      {"NVIDIA H200", "H200"},
      {"NVIDIA H20", "H20"},
      {"NVIDIA H20-3e", "H20"},
      {"NVIDIA B200", "B200"},
      {"NVIDIA B300 SXM6 AC", "B300"},
      {"NVIDIA GB200", "GB200"},
      {"NVIDIA GB300", "GB300"},
      {"NVIDIA GH200 480GB", "GH200"},
      {"NVIDIA L4", "L4"},
      {"NVIDIA L40", "L40"},
      {"NVIDIA L40S", "L40S"},
      {"NVIDIA A10", "A10"},
      {"NVIDIA A10G", "A10G"},
      {"NVIDIA T4G", "T4G"},
      {"Tesla V100-SXM2-16GB", "V100"},
      {"Tesla V100S-PCIE-32GB", "V100S"},
      {"Tesla P100-PCIE-16GB", "P100"},
      {"Tesla T4", "T4"},
      {"NVIDIA Tesla T4", "T4"},
      {"Tesla P4", "P4"},
      {"Tesla K80", "K80"},
      {"Tesla K40m", "K40"},
      {"GRID T4-16Q", "T4"},
      {"NVIDIA GeForce RTX 4090", "GeForce-RTX-4090"},
      {"GeForce GTX 1080 Ti", "GeForce-GTX-1080-Ti"},
      {"NVIDIA GeForce RTX 3080 Laptop GPU", "GeForce-RTX-3080-Laptop-GPU"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000"},
      {"NVIDIA RTX A6000", "RTX-A6000"},
      {"NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada-Generation"},
      {"Quadro RTX 6000", "Quadro-RTX-6000"},
      {"NVIDIA TITAN V", "TITAN-V"},
      {"NVIDIA CMP 170HX", "CMP-170HX"},
      {"Orin (nvgpu)", "Orin-nvgpu"},
      {"NVIDIA Graphics Device", "Graphics-Device"},
      {"", ""},
  }));
  CAPTURE(row.name);
  CHECK(accelerator_type_of(row.name) == row.type);
}

TEST_CASE("CUDA_VISIBLE_DEVICES is read as CUDA reads it") {
  const std::vector<std::string> uuids = {"GPU-aa11", "GPU-aa22", "GPU-bb33", "GPU-cc44"};
  struct Row {
    const char* value;
    std::vector<int> devices;
  };
  const auto row = GENERATE(values<Row>({
      {"", {}},
      {"  ", {}},
      {"0", {0}},
      {"0,1,2,3", {0, 1, 2, 3}},
      {"2,0", {2, 0}},
      {" 1 , 3 ", {1, 3}},
      {"-1", {}},
      {"0,-1,2", {0}},
      {"0,4,2", {0}},
      {"0,x,2", {0}},
      {"0,,2", {0}},
      {"0,", {0}},
      {"1gpu,2", {1, 2}},
      {"99999999999999999999", {}},
      {"1,1", {}},
      {"0,1,0", {}},
      {"NoDevFiles", {}},
      {"GPU-bb33", {2}},
      {"GPU-c,GPU-aa2", {3, 1}},
      {"GPU-aa", {}},
      {"GPU-bb,GPU-aa,GPU-cc", {2}},
      {"GPU-bb,GPU-b", {}},
      {"GPU-bb,0", {2}},
      {"0,GPU-bb", {0}},
      {"GPU-zz", {}},
      {"MIG-aa11", {}},
  }));
  CAPTURE(row.value);
  CHECK(visible_devices(row.value, uuids) == row.devices);
}

TEST_CASE("a machine without devices has none that are visible") {
  CHECK(visible_devices("0", {}).empty());
  CHECK(visible_devices("GPU-", {}).empty());
}
