// SPDX-License-Identifier: Apache-2.0
#include "backends/inspect/rank_inspection.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "tests/backends/process/hung_mount.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

using Age = std::optional<milliseconds>;

/// The modification of the file is so long ago, or in the future.
void set_age(const std::string& path, std::chrono::seconds age) {
  const std::time_t modified = ::time(nullptr) - age.count();
  const timespec times[2] = {{0, UTIME_OMIT}, {modified, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

struct Bench {
  Loop loop;
  std::optional<RankInspection> inspection{loop};
  std::optional<std::vector<RankState>> states;
  int answers = 0;

  void look(const std::map<int, int>& ranks, const std::string& stacks = "") {
    states.reset();
    inspection->look(ranks, stacks, [this](std::vector<RankState> found) {
      ++answers;
      states = std::move(found);
    });
  }
  bool await_states() {
    return loop_until(loop, [this] { return states.has_value(); });
  }
  Age age(const std::map<int, std::string>& files) {
    std::optional<Age> found;
    inspection->look_at_heartbeats(files, [&](Age age) {
      ++answers;
      found = age;
    });
    CHECK_FALSE(found);  // it is called from the loop
    REQUIRE(loop_until(loop, [&] { return found.has_value(); }));
    return *found;
  }
};

}  // namespace

TEST_CASE("the states of ranks come from the loop, once for each look") {
  Bench bench;
  for (int look = 1; look <= 2; ++look) {
    bench.look({{4, ::getpid()}, {7, 1'000'000'000}});
    CHECK_FALSE(bench.states);
    REQUIRE(bench.await_states());
    REQUIRE(bench.states->size() == 2);
    CHECK(bench.states->front().rank == 4);
    CHECK(bench.states->front().pid == ::getpid());
    CHECK(bench.states->front().threads >= 1);
    CHECK(bench.states->back().rank == 7);
    CHECK(bench.states->back().pid == 0);
    CHECK(bench.answers == look);
  }
  bench.look({});
  REQUIRE(bench.await_states());
  CHECK(bench.states->empty());
}

TEST_CASE("an inspection that goes while it looks does not answer") {
  Bench bench;
  bench.look({{0, ::getpid()}});
  bench.inspection->look_at_heartbeats({{0, "/tmp"}}, [&](Age) { ++bench.answers; });
  bench.inspection.reset();
  run_for(bench.loop, 100ms);
  CHECK(bench.answers == 0);
}

TEST_CASE("an inspection may go when it answers") {
  Bench bench;
  bool is_gone = false;
  bench.inspection->look({}, "", [&](const std::vector<RankState>&) {
    bench.inspection.reset();
    is_gone = true;
  });
  CHECK(loop_until(bench.loop, [&] { return is_gone; }));
}

TEST_CASE("the age of heartbeats is that of the newest file") {
  const TemporaryDirectory folder;
  Bench bench;
  const std::string old = folder.write("old", "");
  const std::string older = folder.write("older", "x");
  const std::string missing = folder.path() + "/missing";
  set_age(old, 1h);
  set_age(older, 2h);
  const std::map<int, std::string> files{{0, older}, {1, old}, {2, missing}};
  const Age age = bench.age(files);
  REQUIRE(age);
  CHECK(*age >= 1h);
  CHECK(*age < 2h);
  CHECK(bench.age({{0, older}}) >= Age(2h));
  SECTION("of one that was just written it is small") {
    (void)folder.write("missing", "alive");
    const Age fresh = bench.age(files);
    REQUIRE(fresh);
    CHECK(*fresh >= 0ms);
    CHECK(*fresh < 1h);
  }
  SECTION("it is never negative") {
    set_age(older, -1h);
    CHECK(bench.age(files) == Age(0ms));
  }
}

TEST_CASE("without a heartbeat file there is no age, and only regular files count") {
  const TemporaryDirectory folder;
  Bench bench;
  CHECK(bench.age({}) == std::nullopt);
  CHECK(bench.age({{0, folder.path() + "/missing"}}) == std::nullopt);
  const std::string link = folder.path() + "/link";
  const std::string pipe = folder.path() + "/pipe";
  std::filesystem::create_symlink(folder.write("file", ""), link);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(bench.age({{0, link}, {1, pipe}, {2, folder.path()}, {3, "/dev/null"}}) == std::nullopt);
  CHECK(bench.answers == 3);
}

TEST_CASE("a file system that does not answer is given up after a while", "[waits]") {
  const TemporaryDirectory folder;
  Bench bench;
  {
    HungMount mount(folder.path() + "/mount");
    if (!mount.is_there()) SKIP_CASE("nothing can be mounted here");
    const std::string file = mount.path() + "/file";
    bench.look({{3, ::getpid()}}, file);
    // A second question finds the thread busy, and is answered without waiting for it.
    for (int question = 0; question < 2; ++question) CHECK(bench.age({{0, file}}) == std::nullopt);
    REQUIRE(bench.await_states());
    REQUIRE(bench.states->size() == 1);
    CHECK(bench.states->front().rank == 3);
    CHECK(bench.states->front().pid == 0);
    CHECK(bench.answers == 3);
    mount.break_off();
    // The late results are dropped, and the next questions answered again.
    CHECK(eventually([&] {
      bench.look({{3, ::getpid()}});
      return bench.await_states() && bench.states->front().pid == ::getpid();
    }));
  }
  CHECK(bench.age({{0, folder.write("file", "")}}));
}
