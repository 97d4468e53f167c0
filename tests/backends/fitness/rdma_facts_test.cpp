// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/rdma_facts.hpp"

#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace train;

TEST_CASE("ports for RDMA are told by device and number, with what the kernel says of them") {
  const train::testing::TemporaryFolder folder;
  const NetworkFiles files{folder.path().string()};
  CHECK(rdma_facts(files).empty());
  const auto write = [&](const std::string& port, const char* file, const char* text) {
    const auto path = folder.path() / "class/infiniband" / port;
    std::filesystem::create_directories(path);
    std::ofstream(path / file) << text;
  };
  write("mlx5_1/ports/1", "state", "1: DOWN\n");
  write("mlx5_0/ports/1", "state", "4: ACTIVE\n");
  write("mlx5_0/ports/1", "rate", "200 Gb/sec (4X HDR)\n");
  write("mlx5_0/ports/1", "link_layer", "InfiniBand\n");
  CHECK(rdma_facts(files) ==
        std::vector<RdmaPort>{{"mlx5_0/1", "ACTIVE", "200 Gb/sec (4X HDR)", "InfiniBand"},
                              {"mlx5_1/1", "DOWN", "", ""}});
}
