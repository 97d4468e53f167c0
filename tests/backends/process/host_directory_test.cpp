// SPDX-License-Identifier: Apache-2.0
#include "backends/process/host_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
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
  CHECK(HostDirectory::open()->path() == "/tmp/train-" + std::to_string(::geteuid()));
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

TEST_CASE("a socket path that the system cannot take is refused with its length") {
  TemporaryDirectory parent;
  const auto directory = HostDirectory::open(parent.path() + "/" + std::string(90, 'd'));
  REQUIRE(directory);
  const auto path = directory->socket_path("abcd2345-0");
  REQUIRE_FALSE(path);
  CHECK_THAT(render(path.error()), Catch::Matchers::Contains("the system allows 107"));
}
