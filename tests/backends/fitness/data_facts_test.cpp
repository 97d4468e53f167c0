// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/data_facts.hpp"

#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

struct Data {
  train::testing::TemporaryFolder folder;
  DataLimits limits{.time = 1h};  // a slow machine reads it all the same

  void add(const std::string& name, std::size_t size) const {
    const std::filesystem::path path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << std::string(size, 'x');
  }
  DataFacts facts() const { return data_facts(folder.path().string(), limits); }
};

}  // namespace

TEST_CASE("the files of a directory and of those below it are read, whatever their sizes") {
  Data data;
  data.add("a", 5'000);
  data.add("deep/below/b", std::size_t{9} << 20);
  data.add("empty", 0);
  const DataFacts facts = data.facts();
  CHECK(facts.directory == data.folder.path());
  CHECK(facts.trouble.empty());
  CHECK(facts.bytes == 5'000 + (std::uint64_t{9} << 20));
  CHECK(facts.took > 0ns);
  CHECK(facts.pace() > 0);
}

TEST_CASE("a file alone is read as well") {
  Data data;
  data.add("one", 10'000);
  CHECK(data_facts((data.folder.path() / "one").string(), data.limits).bytes == 10'000);
}

TEST_CASE("links in a circle come to an end") {
  Data data;
  data.limits.names = 200;
  std::filesystem::create_directory_symlink(data.folder.path(), data.folder.path() / "again");
  data.add("a", 100);
  const DataFacts facts = data.facts();
  CHECK(facts.bytes > 0);
  CHECK(facts.bytes <= 20'000);
}

TEST_CASE("no more is read than is asked for") {
  Data data;
  data.add("a", std::size_t{20} << 20);
  SECTION("bytes, but for a block") {
    data.limits.bytes = 1;
    CHECK(data.facts().bytes == std::uint64_t{4} << 20);
  }
  SECTION("time") {
    data.limits.time = 0ns;
    CHECK(data.facts().trouble == "none of its files came in time");
  }
}

TEST_CASE("a directory that is not there, or has nothing, says so") {
  Data data;
  CHECK(data_facts("/nowhere", data.limits).trouble == "no such file or directory");
  CHECK(data.facts().trouble == "no file with anything in it is there");
}
