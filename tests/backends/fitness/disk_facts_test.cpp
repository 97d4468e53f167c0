// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/disk_facts.hpp"

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace train;

TEST_CASE("a folder that can be written to has a size, and nothing is left there") {
  const train::testing::TemporaryFolder folder;
  const DiskFacts disk = disk_facts("temporary files", folder.path().string());
  CHECK(disk.use == "temporary files");
  CHECK(disk.path == folder.path());
  CHECK(disk.trouble.empty());
  CHECK(disk.size > 0);
  CHECK(disk.free <= disk.size);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a folder that cannot be written to, or is not there, says why") {
  CHECK(disk_facts("x", "/proc").trouble != "");
  CHECK(disk_facts("x", "/nowhere").trouble == "no such file or directory");
}
