// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_bundle.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

struct Bed {
  TemporaryDirectory root;
  std::string programs = root.path() + "/programs";

  std::string task(const std::string& id) {
    fs::create_directories(fs::path(root.path()) / id);
    return root.path() + "/" + id;
  }
  Result<void> keep(const std::string& id, const std::string& request = "{}") {
    const std::string folder = task(id) + "/" + bundle_name;
    if (auto kept = keep_request(folder, request); !kept) return kept;
    return keep_program(folder, programs);
  }
};

}  // namespace

TEST_CASE("a bundle is its user's alone and comes back as it was") {
  Bed bed;
  const std::string request = "secrets \xff\n";
  REQUIRE(bed.keep("a", request));
  const fs::path folder = bed.task("a") + "/bundle";
  CHECK(mode_of(folder) == 0700);
  CHECK(mode_of(bed.programs) == 0700);
  CHECK(mode_of(folder / "request.json") == 0600);
  CHECK(read_bundle(folder).value() == request);
  ::chmod((folder / "request.json").c_str(), 0644);
  CHECK_FALSE(read_bundle(folder));
}

TEST_CASE("the program is kept once for all tasks, one of another build until they have ended") {
  Bed bed;
  REQUIRE_FALSE(own_build_id().empty());
  REQUIRE(bed.keep("a"));
  REQUIRE(bed.keep("b"));
  const fs::path common = fs::path(bed.programs) / own_build_id();
  CHECK(fs::hard_link_count(common) == 3);
  CHECK(fs::file_size(common) == fs::file_size("/proc/self/exe"));
  CHECK(mode_of(common) == 0700);
  CHECK(kept_program(bed.task("a") + "/bundle").empty());  // it is this one
  remove_bundle(bed.task("a"), bed.programs);
  CHECK_FALSE(fs::exists(bed.task("a") + "/bundle"));
  const fs::path other = fs::path(bed.programs) / "0123";
  fs::create_hard_link(common, other);
  remove_bundle(bed.task("b"), bed.programs);
  CHECK(fs::exists(other));  // somebody has it still: it has another name
  fs::remove(common);
  fs::copy_file(other, common);
  REQUIRE(bed.keep("c"));
  remove_bundle(bed.task("c"), bed.programs);
  CHECK_FALSE(fs::exists(other));
  CHECK(fs::exists(common));                   // for the next launch of this build
  remove_bundle(bed.task("b"), bed.programs);  // nothing is left to remove
}

TEST_CASE("the program of another build is the one to go on with") {
  Bed bed;
  REQUIRE(bed.keep("a"));
  const fs::path folder = bed.task("a") + "/bundle";
  fs::rename(folder / ("program-" + own_build_id()), folder / "program-0123");
  CHECK(kept_program(folder) == folder / "program-0123");
}

TEST_CASE("a bundle that was not finished is none") {
  Bed bed;
  CHECK_FALSE(read_bundle(bed.task("a") + "/bundle"));
  fs::create_directories(bed.task("b") + "/bundle");
  std::ofstream(bed.task("b") + "/bundle/.request") << "half";
  std::ofstream(bed.task("b") + "/bundle/.partial") << "half";
  CHECK_FALSE(read_bundle(bed.task("b") + "/bundle"));
  REQUIRE(bed.keep("b", "whole"));
  CHECK(read_bundle(bed.task("b") + "/bundle").value() == "whole");
}
