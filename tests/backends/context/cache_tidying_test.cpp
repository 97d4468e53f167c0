// SPDX-License-Identifier: Apache-2.0
#include "backends/context/cache_tidying.hpp"

#include <sys/file.h>

#include "backends/context/host_cache.hpp"
#include "tests/backends/context/tree.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace std::chrono_literals;

TEST_CASE("what is old goes from a cache, and nothing else") {
  Tree tree;
  const CacheAges ages;
  for (const char* name : {"contexts/old", "contexts/new", "contexts/.old", "contexts/.new",
                           "train-old", "train-new", "other", "runs/.old/x", "runs/.new/x"})
    tree.write(name, "x");
  tree.write("runs/old/deep/file", "x");
  tree.write("runs/new/file", "x");
  tree.make("runs/old/closed", 0000);
  tree.write("outside", "kept");
  tree.link("runs/old/link", "../../outside");
  tree.link("train-link", "outside");
  tree.age("contexts/old", ages.contexts + 1h);
  tree.age("contexts/new", ages.contexts - 1h);
  tree.age("contexts/.old", ages.incomplete + 1h);
  tree.age("contexts/.new", ages.incomplete - 1h);
  tree.age("train-old", ages.binaries + 1h);
  tree.age("train-new", ages.binaries - 1h);
  tree.age("train-link", ages.binaries + 1h);
  tree.age("other", ages.binaries + 1h);
  tree.age("outside", ages.binaries + 1h);
  tree.age("runs/old", ages.runs + 1h);
  tree.age("runs/new", ages.runs - 1h);
  tree.age("runs/.old", ages.incomplete + 1h);
  tidy_caches({tree.path()}, not_cancelled);
  for (const char* gone : {"contexts/old", "contexts/.old", "train-old", "runs/old", "runs/.old"})
    CHECK_FALSE(tree.has(gone));
  for (const char* kept : {"contexts/new", "contexts/.new", "train-new", "runs/new", "runs/.new",
                           "other", "outside", "train-link"})
    CHECK(tree.has(kept));
  CHECK(tree.names("runs").size() == 2);
}

TEST_CASE("a copy that an agent has locked is not old") {
  Tree tree;
  tree.write("runs/used/x", "x");
  tree.age("runs/used", 99999h);
  const Descriptor agent(::open(tree.at("runs/used").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(::flock(agent.get(), LOCK_SH | LOCK_NB) == 0);
  tidy_caches({tree.path()}, not_cancelled);
  CHECK(tree.has("runs/used/x"));
}

TEST_CASE("a cache that is a link, or somebody else's, is left alone") {
  Tree tree, other;
  other.write("contexts/old", "x");
  other.age("contexts/old", 99999h);
  tree.link("place", other.path());
  tidy_caches({tree.at("place"), tree.at("gone")}, not_cancelled);
  CHECK(other.has("contexts/old"));
  CHECK_FALSE(tree.has("gone"));
  if (::geteuid() != 0) SKIP_CASE("only root can make a folder of another user");
  REQUIRE(::chown(other.at("contexts/old").c_str(), 65534, 65534) == 0);
  tidy_caches({other.path()}, not_cancelled);
  CHECK(other.has("contexts/old"));
}

TEST_CASE("tidying ends early") {
  Tree tree;
  tree.write("contexts/old", "x");
  tree.age("contexts/old", 99999h);
  const std::atomic<bool> cancelled{true};
  tidy_caches({tree.path()}, cancelled);
  CHECK(tree.has("contexts/old"));
}

TEST_CASE("a place of a cache is made for its user alone, and what others control is refused") {
  Tree tree;
  CHECK_FALSE(HostCache::open(tree.at("a/b"), HostCache::Make::nothing));
  CHECK_FALSE(tree.has("a"));
  REQUIRE(HostCache::open(tree.at("a/b")));
  for (const char* name : {"a", "a/b", "a/b/contexts", "a/b/runs"}) {
    struct stat status {};
    REQUIRE(::stat(tree.at(name).c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0700);
  }
  std::string why;
  SECTION("open to others") {
    REQUIRE(::chmod(tree.at("a/b").c_str(), 0755) == 0);
    REQUIRE(HostCache::open(tree.at("a/b")));
    struct stat status {};
    REQUIRE(::stat(tree.at("a/b").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0700);
    return;
  }
  SECTION("a link") {
    std::filesystem::remove_all(tree.at("a/b/runs"));
    tree.link("a/b/runs", "/tmp");
    why = "'" + tree.at("a/b/runs") + "': it is no folder";
  }
  SECTION("a file") {
    std::filesystem::remove_all(tree.at("a/b"));
    tree.write("a/b", "");
    why = "'" + tree.at("a/b") + "': it is no folder";
  }
  SECTION("somebody else's") {
    if (::geteuid() != 0) SKIP_CASE("only root can make a folder of another user");
    REQUIRE(::chown(tree.at("a/b/contexts").c_str(), 65534, 65534) == 0);
    why = "'" + tree.at("a/b/contexts") + "': it belongs to user 65534";
  }
  const auto opened = HostCache::open(tree.at("a/b"));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().diagnostics.front().message == why);
}
