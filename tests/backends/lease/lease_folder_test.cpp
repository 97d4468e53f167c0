// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/lease_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "tests/backends/lease/lease_fixture.hpp"
#include "tests/skip.hpp"

using namespace train;

namespace {

/// Folders of root: "a" for leases alone, "b" open to everybody, "c" not.
struct Places {
  Places() {
    for (const char* name : {"a", "b", "c"})
      REQUIRE(::mkdir((folder.path() + "/" + name).c_str(), 0755) == 0);
    REQUIRE(::chmod((folder.path() + "/b").c_str(), 01777) == 0);
  }
  LeasePlace own() const { return {folder.path() + "/a", true, false}; }
  LeasePlace open() const { return {folder.path() + "/b", false, true}; }
  LeasePlace closed() const { return {folder.path() + "/c", false, false}; }
  LeasePlace missing() const { return {folder.path() + "/d", true, false}; }

  TemporaryDirectory folder;
};

}  // namespace

TEST_CASE("the first folder that is there for everybody is the one") {
  if (::geteuid() != 0) SKIP_CASE("a folder that everybody trusts is root's");
  const Places places;
  const auto own = open_lease_folder({places.missing(), places.own(), places.open()});
  REQUIRE(own);
  CHECK(own->path == places.own().path);
  CHECK(own->prefix.empty());
  CHECK_FALSE(own->is_tidied);
  const auto shared = open_lease_folder({places.missing(), places.closed(), places.open()});
  REQUIRE(shared);
  CHECK(shared->path == places.open().path);
  CHECK(shared->prefix == "train-lease-");
  CHECK(shared->is_tidied);
  CHECK(shared->identity != own->identity);
  CHECK(open_lease_folder({places.open()})->identity == shared->identity);
}

TEST_CASE("root may make a better folder while slots are held in another one") {
  if (::geteuid() != 0) SKIP_CASE("a folder that everybody trusts is root's");
  const Places places;
  const std::vector<LeasePlace> order{places.missing(), places.open()};
  const auto task = [&](const char* name) {
    return std::make_unique<TaskLeases>(open_lease_folder(order).value(),
                                        TaskLeases::Words{name, name, "digits", "alice@head"});
  };
  const auto first = task("first");
  REQUIRE(first->take({whole_slot(0)})->empty());
  const auto waiting = task("waiting");
  REQUIRE(::mkdir(places.missing().path.c_str(), 01777) == 0);
  REQUIRE(open_lease_folder(order)->path == places.missing().path);
  const auto second = task("second");
  const auto blockers = second->take({whole_slot(0)}).value();
  REQUIRE(blockers.size() == 1);
  CHECK(blockers.front().task == "first");
  REQUIRE(second->take({whole_slot(1)})->empty());
  // Whoever has opened the old one before it takes anything sees the new one.
  CHECK(waiting->take({whole_slot(1)})->front().task == "second");
  REQUIRE(::chmod(places.folder.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(places.missing().path.c_str(), 0700) == 0);
  LeaseFolder old_one = open_lease_folder({places.open()}).value();
  old_one.others = {places.missing()};
  REQUIRE(::seteuid(65'534) == 0);
  const auto refused = other_lease_folders(old_one);
  REQUIRE(::seteuid(0) == 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().diagnostics.front().message ==
        "its slots are held in '" + places.missing().path +
            "', which this user may not look into: permission denied");
}

TEST_CASE("a folder in which no task was is not looked into") {
  if (::geteuid() != 0) SKIP_CASE("a folder that everybody trusts is root's");
  const Places places;
  const auto folder = open_lease_folder({places.own(), places.closed(), places.open()}).value();
  CHECK(folder.others.size() == 2);
  CHECK(other_lease_folders(folder)->empty());
  TaskLeases first(open_lease_folder({places.open()}).value(), {"a", "a", "", ""});
  REQUIRE(first.take({whole_slot(0)})->empty());
  REQUIRE(other_lease_folders(folder)->size() == 1);
  CHECK(other_lease_folders(folder)->front().path == places.open().path);
}

TEST_CASE("a host without such a folder says so") {
  const Places places;
  const auto none = open_lease_folder({places.missing(), places.closed()});
  REQUIRE_FALSE(none);
  CHECK(none.error().error_class == ErrorClass::host);
  CHECK(none.error().diagnostics.front().message.find(places.missing().path + ", ") !=
        std::string::npos);
}

TEST_CASE("whoever may not use the folder of the others does not use another one") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  const Places places;
  REQUIRE(::chmod(places.folder.path().c_str(), 0755) == 0);
  REQUIRE(::seteuid(65'534) == 0);
  const auto refused = open_lease_folder({places.own(), places.open()});
  REQUIRE(::seteuid(0) == 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().diagnostics.front().message ==
        "its slots are held in '" + places.own().path +
            "', which this user may not write to: permission denied");
}

TEST_CASE("a folder that other hosts share is refused, and no other one is used") {
  const Places places;
  const LeasePlace named = named_place(places.own().path);
  for (const FileSystemKind kind_of :
       {FileSystemKind([](int) { return std::uint32_t{0x6969}; }),         // NFS
        FileSystemKind([](int) { return std::uint32_t{0x0BD00BD0}; })}) {  // Lustre
    const auto refused = open_lease_folder({named, places.open()}, kind_of);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().error_class == ErrorClass::host);
    CHECK(refused.error().diagnostics.front().message.find("is on a file system over a network") !=
          std::string::npos);
  }
  CHECK(open_lease_folder({named}, [](int) { return std::uint32_t{0xEF53}; }));  // ext4
}

TEST_CASE("this machine has such a folder") {
  const auto folder = open_lease_folder();
  REQUIRE(folder);
  CHECK_FALSE(folder->identity.empty());
}

// Who may write to the folder above can lead it elsewhere at any time, where fs.protected_symlinks
// does not keep them from it.
TEST_CASE("a link is not the folder, wherever it leads") {
  if (::geteuid() != 0) SKIP_CASE("a folder that everybody trusts is root's");
  const Places places;
  REQUIRE(::symlink(places.open().path.c_str(), places.missing().path.c_str()) == 0);
  const auto folder = open_lease_folder({places.missing(), places.own()});
  REQUIRE(folder);
  CHECK(folder->path == places.own().path);
  REQUIRE(LeaseFile::open(open_lease_folder({places.open()}).value(), lease_mutex_name));
  CHECK(other_lease_folders(*folder)->empty());
  const auto none = open_lease_folder({places.missing()});
  CHECK_FALSE(none);
}

TEST_CASE("where somebody squats on the mutex the next folder is taken") {
  if (::geteuid() != 0) SKIP_CASE("a folder that everybody trusts is root's");
  const Places places;
  const std::string mutex = places.own().path + "/" + lease_mutex_name;
  std::string what;
  SECTION("a folder") {
    REQUIRE(::mkdir(mutex.c_str(), 0777) == 0);
    what = "a folder";
  }
  SECTION("a pipe") {
    REQUIRE(::mkfifo(mutex.c_str(), 0666) == 0);
    what = "a pipe";
  }
  SECTION("a link") {
    REQUIRE(::symlink("nowhere", mutex.c_str()) == 0);
    what = "a link";
  }
  SECTION("a private file") {
    const Descriptor file(::open(mutex.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(file);
    what = "a file that others may not lock";
  }
  REQUIRE(::lchown(mutex.c_str(), 65'534, 65'534) == 0);
  const auto folder = open_lease_folder({places.own(), places.open()});
  REQUIRE(folder);
  CHECK(folder->path == places.open().path);
  CHECK(folder->others.size() == 1);
  CHECK(other_lease_folders(*folder)->size() == 1);
  CHECK(squats_on(*folder) ==
        std::vector<std::string>{"'" + mutex + "' is " + what +
                                 " of nobody, so that no slots can be held with it; tasks use the "
                                 "next folder"});
  const auto none = open_lease_folder({places.own()});
  REQUIRE_FALSE(none);
  CHECK(none.error().error_class == ErrorClass::host);
  CHECK(none.error().diagnostics.front().message ==
        "'" + mutex + "' is " + what + " of nobody, so that no slots can be held with it");
}

TEST_CASE("where somebody squats on the lock of a slot all is taken in the next folder") {
  if (::geteuid() != 0) SKIP_CASE("a folder that everybody trusts is root's");
  const Places places;
  const std::vector<LeasePlace> order{places.own(), places.open()};
  const auto task = [&](const char* name) {
    return std::make_unique<TaskLeases>(open_lease_folder(order).value(),
                                        TaskLeases::Words{name, name, "digits", "alice@head"});
  };
  const auto before = task("before");
  REQUIRE(before->take({whole_slot(1)})->empty());
  const std::string squat = places.own().path + "/place-0";
  REQUIRE(::mkdir(squat.c_str(), 0777) == 0);
  const auto first = task("first");
  CHECK(first->take({whole_slot(0), whole_slot(1)})->front().task == "before");
  REQUIRE(first->take({whole_slot(0), whole_slot(2)})->empty());
  const auto second = task("second");
  CHECK(second->take({whole_slot(0)})->front().task == "first");
  CHECK(second->take({whole_slot(2)})->front().task == "first");
  REQUIRE(second->take({whole_slot(3)})->empty());
  first->drop();
  const std::string there = places.open().path + "/train-lease-place-0";
  REQUIRE(::unlink(there.c_str()) == 0);
  REQUIRE(::mkdir(there.c_str(), 0777) == 0);
  const std::string words = "' is a folder of root, so that no slots can be held with it";
  CHECK(squats_on(open_lease_folder(order).value()) ==
        std::vector<std::string>{"'" + squat + words + "; tasks that need it use the next folder",
                                 "'" + there + words});
  const auto refused = task("third")->take({whole_slot(0)});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().diagnostics.size() == 2);
  CHECK(refused.error().diagnostics.front().message ==
        "'" + squat + "' is a folder of root, so that no slots can be held with it");
}

// Whoever has made the mutex can remove it while others hold slots there.
TEST_CASE("a folder in which a task has words is looked into, whatever else was removed there") {
  if (::geteuid() != 0) SKIP_CASE("a folder that everybody trusts is root's");
  const Places places;
  TaskLeases first(open_lease_folder({places.open()}).value(), {"a", "a", "", ""});
  REQUIRE(first.take({whole_slot(0)})->empty());
  for (const char* name : {"mutex", "place-0"})
    REQUIRE(::unlink((places.open().path + "/train-lease-" + name).c_str()) == 0);
  TaskLeases second(open_lease_folder({places.own(), places.open()}).value(), {"b", "b", "", ""});
  CHECK(second.take({whole_slot(0)})->front().task == "a");
}
