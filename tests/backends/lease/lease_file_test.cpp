// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/lease_file.hpp"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "tests/backends/lease/lease_fixture.hpp"
#include "tests/skip.hpp"

using namespace train;

namespace {

using Ranges = std::vector<LeaseRange>;

}  // namespace

TEST_CASE("what one has locked others see, and cannot lock") {
  const HostUnderTest host;
  auto ours = LeaseFile::open(host.folder(), "place-0").value();
  auto theirs = LeaseFile::open(host.folder(), "place-0").value();
  REQUIRE(ours.lock({0, 4'000}));
  REQUIRE(ours.lock({8'000, 9'000}));
  CHECK(theirs.held_by_others(10'000) == Ranges{{0, 4'000}, {8'000, 9'000}});
  CHECK(theirs.held_by_others(8'500) == Ranges{{0, 4'000}, {8'000, 8'500}});
  CHECK(ours.held_by_others(10'000).empty());
  CHECK_FALSE(theirs.lock({3'999, 5'000}));
  CHECK(theirs.lock({4'000, 8'000}));
  CHECK(ours.held_by_others(10'000) == Ranges{{4'000, 8'000}});
  ours.unlock({0, 4'000});
  CHECK(theirs.held_by_others(10'000) == Ranges{{8'000, 9'000}});
  const LeaseFile look = LeaseFile::look(host.folder(), "place-0");
  REQUIRE(look);
  CHECK(look.held_by_others(10'000) == Ranges{{4'000, 9'000}});
  CHECK_FALSE(LeaseFile::look(host.folder(), "place-1"));
}

// Memory is counted in bytes: 4 TiB of it are as good as a slot.
TEST_CASE("many holders of many pieces are all seen, wherever the kernel has them in its list") {
  const HostUnderTest host;
  std::mt19937_64 chance(4);
  std::vector<LeaseFile> holders;
  Ranges all;
  for (int i = 0; i < 60; ++i) {
    auto file = LeaseFile::open(host.folder(), "memory").value();
    for (int piece = 0; piece < 3; ++piece) {
      const std::uint64_t begin = chance() % (std::uint64_t{1} << 42);
      const LeaseRange range{begin, begin + 1 + chance() % (std::uint64_t{1} << 34)};
      if (file.lock(range)) all.push_back(range);
    }
    holders.push_back(std::move(file));
  }
  REQUIRE(all.size() > 100);
  const auto file = LeaseFile::open(host.folder(), "memory").value();
  CHECK(file.held_by_others(std::uint64_t{1} << 43) == merged(all));
}

TEST_CASE("a lock goes with the last process that has the file open, not before") {
  const HostUnderTest host;
  auto ours = std::make_optional(LeaseFile::open(host.folder(), "place-0").value());
  const auto theirs = LeaseFile::open(host.folder(), "place-0").value();
  REQUIRE(ours->lock({0, 10'000}));
  int talk[2];
  REQUIRE(::pipe2(talk, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(talk[1]);
    char byte = 0;
    (void)!::read(talk[0], &byte, 1);
    ::_exit(0);
  }
  ::close(talk[0]);
  ours.reset();
  CHECK(theirs.held_by_others(10'000) == Ranges{{0, 10'000}});
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  ::close(talk[1]);
  CHECK(theirs.held_by_others(10'000).empty());
}

TEST_CASE("a file of another user is locked like one's own, and never through a link") {
  const HostUnderTest host;
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  REQUIRE(::chmod(host.path().c_str(), 01777) == 0);
  REQUIRE(LeaseFile::open(host.folder(), "place-0"));
  REQUIRE(::symlink("place-0", (host.path() + "/place-1").c_str()) == 0);
  REQUIRE(::mkfifo((host.path() + "/place-2").c_str(), 0666) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(9);
    auto theirs = LeaseFile::open(host.folder(), "place-0");
    const bool is_locked = theirs && theirs->lock({0, 1});
    const bool is_refused = !LeaseFile::open(host.folder(), "place-1") &&
                            !LeaseFile::open(host.folder(), "place-2") &&
                            !LeaseFile::look(host.folder(), "place-1");
    const bool is_made = LeaseFile::open(host.folder(), "place-3").has_value();
    ::_exit((is_locked ? 0 : 1) + (is_refused ? 0 : 2) + (is_made ? 0 : 4));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(LeaseFile::open(host.folder(), "place-3")->lock({0, 1}));
}

TEST_CASE("two users who want the same for the first time, at the same moment, both can",
          "[once]") {
  const HostUnderTest host;
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  REQUIRE(::chmod(host.path().c_str(), 01777) == 0);
  constexpr int most = 2'000;
  const auto open_all = [&host] {
    int failed = 0;
    for (int i = 0; i < most; ++i)
      if (!LeaseFile::open(host.folder(), "place-" + std::to_string(i))) ++failed;
    return failed;
  };
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(99);
    ::_exit(std::min(open_all(), 98));
  }
  CHECK(open_all() == 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a file that was removed and made anew is not the one that was locked") {
  const HostUnderTest host;
  const auto folder = host.folder();
  const auto file = LeaseFile::open(folder, "place-0").value();
  CHECK(file.is_in(folder));
  std::filesystem::remove(host.path() + "/place-0");
  CHECK_FALSE(file.is_in(folder));
  const auto other = LeaseFile::open(folder, "place-0").value();
  CHECK_FALSE(file.is_in(folder));
  CHECK(other.is_in(folder));
}

TEST_CASE("what is touched is new to whoever tidies") {
  const HostUnderTest host;
  const auto file = LeaseFile::open(host.folder(), "place-0").value();
  const timespec old[2] = {{1'000, 0}, {1'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (host.path() + "/place-0").c_str(), old, 0) == 0);
  file.touch();
  struct stat status {};
  REQUIRE(::stat((host.path() + "/place-0").c_str(), &status) == 0);
  CHECK(status.st_mtime > 1'000);
  CHECK(status.st_size == 0);
}

TEST_CASE("a record is there once all of it is, under a name that nobody has foreseen") {
  const HostUnderTest host;
  const auto folder = host.folder();
  const auto one = LeaseFile::make_record(folder, "holder-0-a", "words").value();
  const auto other = LeaseFile::make_record(folder, "holder-0-a", "others").value();
  CHECK(one.name(folder) != other.name(folder));
  CHECK(one.name(folder).starts_with("holder-0-a-"));
  CHECK(one.is_in(folder));
  CHECK(LeaseFile::look(folder, one.name(folder)).is_alive());
  CHECK(names_in(folder).size() == 2);  // no draft is left
  struct stat status {};
  REQUIRE(::fstat(one.descriptor(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0644);
}

// A process that is killed between two steps, at each of them.
TEST_CASE("whatever is killed while it makes a lock file, others can lock it") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  const HostUnderTest host;
  REQUIRE(::chmod(host.path().c_str(), 01777) == 0);
  bool has_ended = false;
  constexpr int most_steps = 1'000;
  for (int step = 1; !has_ended && step <= most_steps; ++step) {
    CAPTURE(step);
    const std::string name = "place-" + std::to_string(step);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(9);
      if (::raise(SIGSTOP) != 0) ::_exit(9);
      ::_exit(LeaseFile::open(host.folder(), name) ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSTOPPED(status));
    for (int i = 0; i < step && WIFSTOPPED(status); ++i) {  // into and out of system calls
      REQUIRE(::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0);
      REQUIRE(::waitpid(child, &status, 0) == child);
    }
    has_ended = WIFEXITED(status);
    if (has_ended) {
      CHECK(WEXITSTATUS(status) == 0);
    } else {
      REQUIRE(WIFSTOPPED(status));
      REQUIRE(::kill(child, SIGKILL) == 0);
      REQUIRE(::waitpid(child, &status, 0) == child);
    }
    const pid_t other = ::fork();
    if (other == 0) {
      if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(9);
      ::_exit(LeaseFile::open(host.folder(), name) ? 0 : 1);
    }
    REQUIRE(::waitpid(other, &status, 0) == other);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(has_ended);
}

TEST_CASE("a lock file that a killed program has left half made is mended by its user") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  const HostUnderTest host;
  const auto make = [&](const std::string& name, uid_t user) {
    const Descriptor file(
        ::open((host.path() + "/" + name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(file);
    REQUIRE(::fchown(file.get(), user, user) == 0);
  };
  const auto mode_of = [&](const std::string& name) {
    struct stat status {};
    REQUIRE(::stat((host.path() + "/" + name).c_str(), &status) == 0);
    return status.st_mode & 07777;
  };
  make("place-0", 0);
  CHECK(squat_on(host.folder(), "place-0"));
  CHECK(mode_of("place-0") == 0600);  // a look changes nothing
  CHECK(LeaseFile::open(host.folder(), "place-0"));
  CHECK(mode_of("place-0") == 0666);
  // Not a private file that somebody has linked there, nor one of another user.
  make("private", 0);
  REQUIRE(::link((host.path() + "/private").c_str(), (host.path() + "/place-1").c_str()) == 0);
  CHECK_FALSE(LeaseFile::open(host.folder(), "place-1"));
  CHECK(mode_of("private") == 0600);
  make("place-2", 65'534);
  const auto refused = LeaseFile::open(host.folder(), "place-2");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().error_class == ErrorClass::busy);
  CHECK(refused.error().diagnostics.front().message ==
        "'" + host.path() +
            "/place-2' is a file that others may not lock of nobody, so that no slots can be held "
            "with it");
  CHECK(mode_of("place-2") == 0600);
  // Where all may write, somebody may have moved a file of root there.
  REQUIRE(::chmod(host.path().c_str(), 01777) == 0);
  make("place-3", 0);
  CHECK_FALSE(LeaseFile::open(host.folder(), "place-3"));
  CHECK(mode_of("place-3") == 0600);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(9);
    ::_exit(LeaseFile::open(host.folder(), "place-2") ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(mode_of("place-2") == 0666);
}

// Whoever waits tries again, and is not ended by it.
TEST_CASE("a squatter who comes and goes keeps others out for now, and not for good", "[once]") {
  const HostUnderTest host;
  const std::string path = host.path() + "/place-0";
  const pid_t squatter = ::fork();
  if (squatter == 0)
    for (;;) {
      ::mkdir(path.c_str(), 0777);
      ::rmdir(path.c_str());
      (void)!::symlink("nowhere", path.c_str());
      ::unlink(path.c_str());
    }
  int failed = 0;
  for (int i = 0; i < 3'000; ++i) {
    const auto file = LeaseFile::open(host.folder(), "place-0");
    if (!file && file.error().error_class != ErrorClass::busy) ++failed;
    if (file) ::unlink(path.c_str());
  }
  REQUIRE(::kill(squatter, SIGKILL) == 0);
  REQUIRE(::waitpid(squatter, nullptr, 0) == squatter);
  CHECK(failed == 0);
}

// Each costs the kernel a walk through all that are locked.
TEST_CASE("of very many pieces not all are asked for, and none of them is free") {
  const HostUnderTest host;
  auto squatter = LeaseFile::open(host.folder(), "place-0").value();
  for (std::uint64_t i = 0; i < 200; ++i) REQUIRE(squatter.lock({2 * i, 2 * i + 1}));
  const auto file = LeaseFile::open(host.folder(), "place-0").value();
  CHECK(size_of(file.held_by_others(400)) == 200);
  const auto held = file.held_by_others(400, 10);
  CHECK(held.size() <= 21);
  Ranges locked;
  for (std::uint64_t i = 0; i < 200; ++i) locked.push_back({2 * i, 2 * i + 1});
  CHECK(without(locked, held).empty());
}
