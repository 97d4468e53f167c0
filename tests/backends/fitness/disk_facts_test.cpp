// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/disk_facts.hpp"

#include <stdlib.h>

#include <filesystem>

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("a folder that can be written to has a size, and nothing is left there") {
  char name[] = "/tmp/train-test-XXXXXX";
  REQUIRE(::mkdtemp(name) != nullptr);
  const DiskFacts disk = disk_facts("temporary files", name);
  CHECK(disk.use == "temporary files");
  CHECK(disk.path == name);
  CHECK(disk.trouble.empty());
  CHECK(disk.size > 0);
  CHECK(disk.free <= disk.size);
  CHECK(std::filesystem::is_empty(name));
  std::filesystem::remove(name);
}

TEST_CASE("a folder that cannot be written to, or is not there, says why") {
  CHECK(disk_facts("x", "/proc").trouble != "");
  CHECK(disk_facts("x", "/nowhere").trouble == "no such file or directory");
}
