// SPDX-License-Identifier: Apache-2.0
#include "backends/process/state_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <set>

#include "backends/posix/own_folder.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

const std::string own_name = "train-" + std::to_string(::geteuid());

// A place like /tmp, in which somebody else, or what is no folder, may have our name.
struct SharedPlace {
  TemporaryDirectory folder;
  std::string usual = folder.path() + "/" + own_name;

  void take_name() const { folder.write(own_name, "in the way"); }
  std::string path_of(const std::string& key = "task-0") const {
    auto found = find_state_folder({folder.path()}, key);
    if (!found) FAIL(render(found.error()));
    return found->path;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      found.push_back(entry.path().filename().string());
    return found;
  }
  std::string add(const std::string& ending, mode_t mode = 0700) const {
    const std::string path = usual + "-" + ending;
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    return path;
  }
};

}  // namespace

TEST_CASE("the folder of a user has the usual name, and is locked against cleaners") {
  const SharedPlace place;
  const auto found = find_state_folder({place.folder.path()}, "task-0");
  REQUIRE(found);
  CHECK(found->path == place.usual);
  struct stat status {};
  REQUIRE(::stat(place.usual.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  const Descriptor cleaner(::open(place.usual.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(::flock(cleaner.get(), LOCK_EX | LOCK_NB) != 0);
  CHECK(place.path_of("task-1") == place.usual);
  CHECK(place.names().size() == 1);
}

TEST_CASE("a name that is taken locks nobody out, and the folder is found again") {
  const SharedPlace place;
  SECTION("by a file") { place.take_name(); }
  SECTION("by a link") { REQUIRE(::symlink("/", place.usual.c_str()) == 0); }
  SECTION("by a folder that is open to others") {
    REQUIRE(::mkdir(place.usual.c_str(), 0700) == 0);
    REQUIRE(::chmod(place.usual.c_str(), 0755) == 0);
  }
  SECTION("by another user") {
    REQUIRE(::mkdir(place.usual.c_str(), 0700) == 0);
    if (::geteuid() != 0) SKIP_CASE("only root can make a folder of another user");
    REQUIRE(::chown(place.usual.c_str(), 65534, 65534) == 0);
  }
  const std::string found = place.path_of();
  CHECK(found.starts_with(place.usual + "-"));
  CHECK(found.size() == place.usual.size() + 7);
  CHECK(place.path_of() == found);
  CHECK(place.path_of("task-1") == found);
  CHECK(place.names().size() == 2);
}

TEST_CASE("the folder stays the same when the usual name becomes free, or ours") {
  const SharedPlace place;
  place.take_name();
  const std::string found = place.path_of();
  REQUIRE(::unlink(place.usual.c_str()) == 0);
  CHECK(place.path_of() == found);
  REQUIRE(::mkdir(place.usual.c_str(), 0700) == 0);  // as a cache of programs makes it
  CHECK(place.path_of() == found);
}

TEST_CASE("folders that look like ours and are not are passed over") {
  const SharedPlace place;
  place.take_name();
  (void)place.add("aaaaaa", 0755);
  (void)place.add("toolong");
  (void)place.add("UPPER2");
  REQUIRE(::symlink("/", (place.usual + "-bbbbbb").c_str()) == 0);
  place.folder.write(own_name + "-cccccc", "");
  if (::geteuid() == 0) REQUIRE(::chown(place.add("dddddd").c_str(), 65534, 65534) == 0);
  const std::string ours = place.add("eeeeee");
  CHECK(place.path_of() == ours);
}

TEST_CASE("of several folders the one with the agent counts, then the first") {
  const SharedPlace place;
  const std::string first = place.add("aaaaaa"), second = place.add("bbbbbb");
  place.folder.write(own_name + "-bbbbbb/task-7.lock", "");
  CHECK(place.path_of("task-0") == first);
  CHECK(place.path_of("task-7") == second);
}

TEST_CASE("a later place serves where the first takes nothing, and each says why when none does") {
  const SharedPlace first, second;
  const std::string gone = first.folder.path() + "/gone";
  const auto found = find_state_folder({gone, second.folder.path()}, "task-0");
  REQUIRE(found);
  CHECK(found->path.starts_with(second.folder.path() + "/" + own_name));
  const auto none = find_state_folder({gone, first.folder.write("file", "")}, "task-0");
  REQUIRE_FALSE(none);
  CHECK(none.error().error_class == ErrorClass::host);
  CHECK(none.error().diagnostics.front().message ==
        "no place for the files of the agent: '" + gone + "': no such file or directory; '" +
            first.folder.path() + "/file': not a directory");
}

TEST_CASE("a place that takes no folder says so beside who has the usual name") {
  constexpr uid_t nobody = 65534;
  const bool is_root = ::geteuid() == 0;  // who can write everywhere, and becomes somebody else
  TemporaryDirectory folder;
  const uid_t user = is_root ? nobody : ::geteuid();
  const std::string usual = folder.write("train-" + std::to_string(user), "in the way");
  REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
  int said[2];
  REQUIRE(::pipe(said) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (is_root && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(1);
    const auto none = find_state_folder({folder.path()}, "task-0");
    const std::string text = none ? none->path : none.error().diagnostics.front().message;
    (void)!::write(said[1], (text + "\n").data(), text.size() + 1);
    ::_exit(0);
  }
  ::close(said[1]);
  CHECK(read_line(said[0]) == "no place for the files of the agent: directory '" + usual +
                                  "' is not a directory; '" + folder.path() +
                                  "': permission denied");
  ::close(said[0]);
  ::waitpid(child, nullptr, 0);
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
}

TEST_CASE("a folder that is being made is waited for, and one whose maker died counts") {
  const SharedPlace place;
  place.take_name();
  const std::string path = place.add("aaaaaa");
  int ready[2];
  int end[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(end) == 0);
  const pid_t maker = ::fork();
  if (maker == 0) {
    ::close(end[1]);
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY);
    const bool is_locked = ::flock(folder, LOCK_EX | LOCK_NB) == 0;
    (void)!::write(ready[1], is_locked ? "y" : "n", 1);
    char byte = 0;
    (void)!::read(end[0], &byte, 1);  // until it is to end
    ::_exit(0);                       // without a word: the lock goes with it
  }
  char answer = 'n';
  REQUIRE(::read(ready[0], &answer, 1) == 1);
  REQUIRE(answer == 'y');
  auto found = std::async(std::launch::async, [&] { return place.path_of(); });
  CHECK(stays([&] { return found.wait_for(0s) == std::future_status::timeout; }));
  ::close(end[1]);
  CHECK(found.get() == path);
  ::waitpid(maker, nullptr, 0);
  for (const int each : {ready[0], ready[1], end[0]}) ::close(each);
  CHECK(place.names().size() == 2);
}

// Each round all of them look at the same moment, while the usual name comes and goes.
TEST_CASE("all that look at the same moment find the same folder", "[once]") {
  constexpr int rounds = 40, searchers = 8;
  const bool is_taken = GENERATE(false, true);
  CAPTURE(is_taken);
  for (int round = 0; round < rounds; ++round) {
    const SharedPlace place;
    if (is_taken) place.take_name();
    int start[2], found[2];
    REQUIRE(::pipe(start) == 0);
    REQUIRE(::pipe(found) == 0);
    std::vector<pid_t> children;
    for (int i = 0; i < searchers; ++i) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      ::close(start[1]);
      char byte = 0;
      (void)!::read(start[0], &byte, 1);  // until all are there
      const auto folder = find_state_folder({place.folder.path()}, "task-0");
      const std::string line = (folder ? folder->path : render(folder.error())) + "\n";
      (void)!::write(found[1], line.data(), line.size());
      ::_exit(0);
    }
    ::close(start[0]);
    ::close(found[1]);
    ::close(start[1]);
    if (is_taken && round % 2 == 0) ::unlink(place.usual.c_str());
    std::set<std::string> paths;
    for (int i = 0; i < searchers; ++i) paths.insert(read_line(found[0]));
    ::close(found[0]);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    CAPTURE(round);
    REQUIRE(paths.size() == 1);
    CHECK(paths.begin()->starts_with(place.usual));
    CHECK(place.path_of() == *paths.begin());
  }
}
