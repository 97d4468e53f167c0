// SPDX-License-Identifier: Apache-2.0
#include "backends/process/checkpoint_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;
using Catch::Contains;

namespace {

std::string mark_of(const std::string& path) {
  FileCalls calls;
  const auto mark = mark_checkpoint_folder(path, calls);
  if (!mark) FAIL(render(mark.error()));
  return *mark;
}

std::string refusal_of(const std::string& path) {
  FileCalls calls;
  const auto mark = mark_checkpoint_folder(path, calls);
  REQUIRE_FALSE(mark);
  CHECK(mark.error().error_class == ErrorClass::missing);
  return render(mark.error());
}

}  // namespace

TEST_CASE("a folder for checkpoints is made with what is around it, and keeps its mark") {
  const TemporaryDirectory base;
  const std::string path = base.path() + "/a/b/task/0";
  const std::string mark = mark_of(path);
  CHECK(mark.size() == 32);
  CHECK(mark_of(path) == mark);
  std::ofstream(path + "/checkpoint.pt") << "kept";
  CHECK(mark_of(path) == mark);
  const std::filesystem::directory_iterator all(path);
  std::set<std::string> names;
  for (const auto& entry : all) names.insert(entry.path().filename());
  CHECK(names == std::set<std::string>{".train-folder", "checkpoint.pt"});
}

TEST_CASE("drafts that killed agents have left go, and those of others that come stay") {
  const TemporaryDirectory base;
  const std::string name = ".train-folder.0123456789abcdef0123456789abcde";
  for (const char* last : {"0", "1"}) std::ofstream(base.path() + "/" + name + last) << "x";
  std::ofstream(base.path() + "/.train-folder.mine") << "x";
  const timespec hour_ago[2] = {{::time(nullptr) - 3600, 0}, {::time(nullptr) - 3600, 0}};
  for (const char* old : {"/.train-folder.mine", "/.train-folder.0123456789abcdef0123456789abcde0"})
    REQUIRE(::utimensat(AT_FDCWD, (base.path() + old).c_str(), hour_ago, 0) == 0);
  CHECK(mark_of(base.path()).size() == 32);
  CHECK_FALSE(std::filesystem::exists(base.path() + "/" + name + "0"));
  CHECK(std::filesystem::exists(base.path() + "/" + name + "1"));
  CHECK(std::filesystem::exists(base.path() + "/.train-folder.mine"));
}

TEST_CASE("folders that are not the same have different marks, whatever they are called") {
  const TemporaryDirectory base;
  CHECK(mark_of(base.path() + "/a") != mark_of(base.path() + "/b"));
  std::filesystem::create_directory_symlink(base.path() + "/a", base.path() + "/c");
  CHECK(mark_of(base.path() + "/a") == mark_of(base.path() + "/c"));
}

TEST_CASE("hosts that come at the same moment find one mark", "[once]") {
  for (int round = 0; round < 50; ++round) {
    const TemporaryDirectory base;
    std::vector<std::string> marks(8);
    std::vector<std::thread> hosts;
    for (std::string& mark : marks)
      hosts.emplace_back([&] {
        FileCalls calls;
        mark = mark_checkpoint_folder(base.path() + "/task/0", calls).value_or("none");
      });
    for (std::thread& host : hosts) host.join();
    CHECK(std::set(marks.begin(), marks.end()).size() == 1);
    CHECK(marks.front().size() == 32);
  }
}

TEST_CASE("a folder for checkpoints that cannot be used is refused with its name", "[waits]") {
  const TemporaryDirectory base;
  std::ofstream(base.path() + "/file") << "x";
  CHECK_THAT(refusal_of(base.path() + "/file/0"),
             Contains("/file/0' cannot be made: not a directory"));
  std::filesystem::create_directory(base.path() + "/odd");
  std::ofstream(base.path() + "/odd/.train-folder") << "somebody else's\n";
  CHECK_THAT(refusal_of(base.path() + "/odd"), Contains("that train has not made"));
  std::filesystem::create_directory(base.path() + "/half");
  std::ofstream(base.path() + "/half/.train-folder") << "";
  CHECK_THAT(refusal_of(base.path() + "/half"),
             Contains("has an empty file .train-folder, which was never finished"));
  CHECK_THAT(refusal_of("/proc/self/0"), Contains("cannot be made"));
  CHECK_THAT(refusal_of("/proc/self"), Contains("'/proc/self' cannot be written"));
}

TEST_CASE("the newest checkpoint is what was changed last in the folder or below it") {
  const TemporaryDirectory base;
  const std::string folder = base.path() + "/checkpoints";
  CHECK_FALSE(newest_checkpoint(folder).at.has_value());
  mark_of(folder);
  CHECK_FALSE(newest_checkpoint(folder).at.has_value());  // the mark is none
  const auto set_time = [](const std::string& file, std::time_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 5}};
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  };
  std::ofstream(folder + "/one") << "x";
  set_time(folder + "/one", 1'000);
  CHECK(newest_checkpoint(folder).at == std::chrono::nanoseconds(1'000'000'000'005));
  std::filesystem::create_directory(folder + "/step-2");
  std::ofstream(folder + "/step-2/model") << "x";
  set_time(folder + "/step-2/model", 3'000);
  set_time(folder + "/step-2", 2'000);
  CHECK(newest_checkpoint(folder).at == std::chrono::nanoseconds(3'000'000'000'005));
  std::filesystem::create_directories(folder + "/step-2/a/b");
  std::ofstream(folder + "/step-2/a/b/model") << "x";
  set_time(folder + "/step-2/a/b/model", 4'000);
  for (const char* above : {"/step-2/a/b", "/step-2/a", "/step-2"}) set_time(folder + above, 2'000);
  CHECK(newest_checkpoint(folder).at == std::chrono::nanoseconds(4'000'000'000'005));
}

TEST_CASE("of a folder with very many names not all are looked at, which is said") {
  const TemporaryDirectory base;
  for (int i = 0; i < 1'000; ++i) std::ofstream(base.path() + "/" + std::to_string(i)) << "x";
  CHECK(newest_checkpoint(base.path()).is_whole);
  std::ofstream(base.path() + "/last") << "x";
  CHECK_FALSE(newest_checkpoint(base.path()).is_whole);
}
