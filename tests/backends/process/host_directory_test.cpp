// SPDX-License-Identifier: Apache-2.0
#include "backends/process/host_directory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/exchanger.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;

TEST_CASE("the host directory is made for its user alone") {
  TemporaryDirectory parent;
  const std::string base = parent.path() + "/train";
  const auto directory = HostDirectory::open(base);
  REQUIRE(directory);
  struct stat status {};
  REQUIRE(::stat(base.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  CHECK(HostDirectory::open(base));  // a second agent of the user
}

TEST_CASE("tmp cleaners find the host directory locked") {
  TemporaryDirectory parent;
  const auto directory = HostDirectory::open(parent.path());
  REQUIRE(directory);
  const Descriptor cleaner(::open(parent.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(::flock(cleaner.get(), LOCK_EX | LOCK_NB) != 0);
}

TEST_CASE("a host directory that others control is refused") {
  TemporaryDirectory parent;
  const std::string base = parent.path() + "/train";
  std::string why;
  SECTION("a link") {
    REQUIRE(::symlink("/tmp", base.c_str()) == 0);
    why = "is a symbolic link";
  }
  SECTION("open to all") {
    REQUIRE(::mkdir(base.c_str(), 0700) == 0);
    REQUIRE(::chmod(base.c_str(), 0755) == 0);
    why = "is open to other users (mode 0755, not 0700)";
  }
  SECTION("a file") {
    parent.write("train", "");
    why = "is not a directory";
  }
  SECTION("another user's") {
    REQUIRE(::mkdir(base.c_str(), 0700) == 0);
    if (::geteuid() != 0) SKIP_CASE("only root can make a folder of another user");
    REQUIRE(::chown(base.c_str(), 65534, 65534) == 0);
    why = "belongs to user 65534";
  }
  SECTION("without a parent") {
    std::filesystem::remove_all(parent.path());
    why = "cannot make directory";
  }
  const auto directory = HostDirectory::open(base);
  REQUIRE_FALSE(directory);
  CHECK(directory.error().error_class == ErrorClass::host);
  CHECK_THAT(render(directory.error()), Catch::Matchers::Contains(why));
}

TEST_CASE("an agent's things are made and removed under its key") {
  TemporaryDirectory base;
  const auto directory = HostDirectory::open(base.path());
  REQUIRE(directory);
  const auto run_directory = directory->make_run_directory("abcd2345-0");
  REQUIRE(run_directory);
  CHECK(*run_directory == base.path() + "/abcd2345-0");
  base.write("abcd2345-0/error.json", "{}");
  base.write("abcd2345-0.lock", "");
  base.write("abcd2345-1.lock", "");
  CHECK(directory->socket_path("abcd2345-0") == base.path() + "/abcd2345-0.sock");
  CHECK(directory->remove("abcd2345-0"));
  CHECK(directory->remove("abcd2345-0"));  // nothing is left, and that is fine
  CHECK_FALSE(std::filesystem::exists(*run_directory));
  CHECK_FALSE(std::filesystem::exists(directory->lock_path("abcd2345-0")));
  CHECK(std::filesystem::exists(directory->lock_path("abcd2345-1")));
}

TEST_CASE("keys that would leave the directory are refused") {
  for (const char* key : {"", ".", "..", "a/b", "../x", "a b", "a.sock"}) {
    CAPTURE(key);
    CHECK_FALSE(HostDirectory::check_key(key));
  }
  CHECK_FALSE(HostDirectory::check_key(std::string(65, 'a')));
  CHECK(HostDirectory::check_key("abcd2345-65535"));
  TemporaryDirectory base;
  const auto directory = HostDirectory::open(base.path());
  REQUIRE(directory);
  CHECK_FALSE(directory->remove(""));
  CHECK(std::filesystem::exists(base.path()));
}

TEST_CASE("a socket's address is short enough for the system, however long its path is") {
  TemporaryDirectory parent;
  const auto directory = HostDirectory::open(parent.path() + "/" + std::string(200, 'd'));
  REQUIRE(directory);
  const std::string key(64, 'k');
  REQUIRE(HostDirectory::check_key(key));
  CHECK(directory->socket_path(key) == directory->path() + "/" + key + ".sock");
  CHECK(directory->socket_address(key).size() <= 107);
}

TEST_CASE("what an agent leaves is removed with all its kinds, and never what a link leads to") {
  TemporaryDirectory base, outside;
  const auto directory = HostDirectory::open(base.path());
  REQUIRE(directory);
  const std::string kept = outside.write("kept", "x", 0644);
  const std::string run = *directory->make_run_directory("task-0");
  base.write("task-0/file", "");
  REQUIRE(::symlink(outside.path().c_str(), (run + "/link").c_str()) == 0);
  REQUIRE(::mkdir((run + "/closed").c_str(), 0000) == 0);
  REQUIRE(::mkfifo((run + "/pipe").c_str(), 0600) == 0);
  CHECK(directory->remove("task-0"));
  CHECK_FALSE(std::filesystem::exists(run));
  struct stat status {};
  REQUIRE(::stat(kept.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
}

namespace {

constexpr uid_t other_user = 12345;

}  // namespace

// The other user may do in this place what the sticky bit forbids in /tmp: the race needs no
// setting of the machine.
TEST_CASE("files and links of a run directory are new ones, and go one by one") {
  TemporaryDirectory base;
  const auto directory = HostDirectory::open(base.path() + "/own");
  REQUIRE(directory);
  const auto made = directory->make_run_directory("task-0");
  REQUIRE(made);
  CHECK(directory->write_file("task-0", "file", "text"));
  CHECK(directory->link_file("task-0", "link", "/bin/sh"));
  CHECK(std::filesystem::read_symlink(*made + "/link") == "/bin/sh");
  for (const char* name : {"file", "link"}) {
    CHECK_FALSE(directory->write_file("task-0", name, "other"));
    CHECK_FALSE(directory->link_file("task-0", name, "/bin/true"));
    directory->remove_file("task-0", name);
    CHECK_FALSE(std::filesystem::exists(std::filesystem::symlink_status(*made + "/" + name)));
  }
  CHECK(std::filesystem::exists("/bin/sh"));
}

TEST_CASE("nothing is written to or removed from a folder that another user puts in the way",
          "[once]") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  TemporaryDirectory place;
  REQUIRE(::chmod(place.path().c_str(), 0777) == 0);
  REQUIRE(::chown(place.path().c_str(), other_user, other_user) == 0);
  const std::string base = place.path() + "/train", evil = place.path() + "/evil";
  const std::string made = GENERATE("folder", "link");
  CAPTURE(made);
  const std::string bait = made == "link" ? place.path() + "/bait" : evil;
  std::filesystem::create_directories(bait + "/task-0");
  place.write(bait.substr(place.path().size() + 1) + "/task-0/kept", "");
  place.write(bait.substr(place.path().size() + 1) + "/task-0.lock", "");
  if (made == "link") REQUIRE(::symlink(bait.c_str(), evil.c_str()) == 0);
  for (const char* name : {"", "/task-0"}) {
    REQUIRE(::chmod((bait + name).c_str(), 0777) == 0);
    REQUIRE(::lchown((bait + name).c_str(), other_user, other_user) == 0);
  }
  REQUIRE(HostDirectory::open(base));
  int opened = 0;
  {
    const Exchanger exchanger(base, evil, other_user);
    // On a busy machine the other user may stop in the middle for a while.
    CHECK(eventually(
        [&] {
          const auto directory = HostDirectory::open(base);
          if (!directory) return false;
          CHECK(directory->make_run_directory("task-0"));
          CHECK(directory->write_file("task-0", "secret", "x"));
          CHECK(directory->remove("task-0"));
          return ++opened == 300;
        },
        std::chrono::seconds(20)));
    CHECK(exchanger.is_at_work());
  }
  struct stat status {};
  REQUIRE(::stat(bait.c_str(), &status) == 0);  // whichever of the two has this name now
  const auto names =
      std::filesystem::recursive_directory_iterator(status.st_uid == other_user ? bait : base);
  CHECK(std::distance(begin(names), end(names)) == 3);
}
