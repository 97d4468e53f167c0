// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/visible_devices.hpp"

#include "tests/catch.hpp"

using namespace train;

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
