// SPDX-License-Identifier: Apache-2.0
#include "backends/context/cache_tidying.hpp"

#include <sys/file.h>

#include "backends/context/host_cache.hpp"
#include "tests/backends/context/tree.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

const std::string old_digest(64, 'a'), new_digest(64, 'b');
const std::string old_binary = "train-" + std::string(40, 'a');
const std::string new_binary = "train-" + std::string(40, 'b');
const std::string ending = ".0123456789abcdef";

}  // namespace

TEST_CASE("what is old goes from a cache, and nothing that is new") {
  Tree tree;
  const CacheAges ages;
  tree.write("outside", "kept");
  struct Thing {
    std::string name;
    std::chrono::hours limit;
    bool is_folder = false;
  };
  const std::vector<Thing> old_things = {{"contexts/" + old_digest + ".tar.gz", ages.contexts},
                                         {"contexts/." + old_digest + ending, ages.incomplete},
                                         {old_binary, ages.binaries},
                                         {"runs/aaaaaaaa-0", ages.runs, true},
                                         {"runs/.aaaaaaaa-1" + ending, ages.incomplete, true},
                                         {"runs/.aaaaaaaa-2.old", ages.incomplete, true}};
  const std::vector<Thing> new_things = {{"contexts/" + new_digest + ".tar.gz", ages.contexts},
                                         {"contexts/." + new_digest + ending, ages.incomplete},
                                         {new_binary, ages.binaries},
                                         {"runs/bbbbbbbb-0", ages.runs, true},
                                         {"runs/.bbbbbbbb-1" + ending, ages.incomplete, true}};
  for (const auto* things : {&old_things, &new_things})
    for (const Thing& thing : *things) tree.write(thing.name + (thing.is_folder ? "/x" : ""), "x");
  tree.make("runs/aaaaaaaa-0/closed", 0000);
  tree.link("runs/aaaaaaaa-0/link", "../../outside");
  tree.age("outside", 99999h);
  for (const Thing& thing : old_things) tree.age(thing.name, thing.limit + 1h);
  for (const Thing& thing : new_things) tree.age(thing.name, thing.limit - 1h);
  tidy_caches({tree.path()}, not_cancelled);
  for (const Thing& thing : old_things) {
    CAPTURE(thing.name);
    CHECK_FALSE(tree.has(thing.name));
  }
  for (const Thing& thing : new_things) {
    CAPTURE(thing.name);
    CHECK(tree.has(thing.name));
  }
  CHECK(tree.has("outside"));
  CHECK(tree.names("runs").size() == 2);
}

TEST_CASE("what has no name or kind of ours stays in a cache, however old it is") {
  Tree tree;
  const std::vector<std::string> files = {"other",
                                          "train-notes.txt",
                                          "train-" + std::string(40, 'A'),
                                          old_binary + "0",
                                          ".train-state.pt",
                                          "contexts/mine.tar.gz",
                                          "contexts/.mine",
                                          "contexts/notes",
                                          "contexts/." + old_digest + ".part",
                                          "runs/results.csv",
                                          "runs/aaaaaaaa-3",
                                          "runs/.hidden"};
  const std::vector<std::string> folders = {old_binary,
                                            "contexts/" + old_digest + ".tar.gz",
                                            "contexts/." + old_digest + ending,
                                            "runs/my-results",
                                            "runs/.git",
                                            "runs/AAAAAAAA-0",
                                            "runs/aaaaaaaa-x",
                                            "runs/.aaaaaaaa-1.backup",
                                            "runs/.aaaaaaaa-1.0123"};
  for (const std::string& name : files) tree.write(name, "x");
  for (const std::string& name : folders) tree.write(name + "/x", "x");
  tree.link("train-" + std::string(40, 'c'), "other");
  tree.link("contexts/" + new_digest + ".tar.gz", "../other");
  for (const auto* names : {&files, &folders})
    for (const std::string& name : *names) tree.age(name, 99999h);
  tree.age("train-" + std::string(40, 'c'), 99999h);
  tree.age("contexts/" + new_digest + ".tar.gz", 99999h);
  tidy_caches({tree.path()}, not_cancelled);
  for (const std::string& name : files) {
    CAPTURE(name);
    CHECK(tree.has(name));
  }
  for (const std::string& name : folders) {
    CAPTURE(name);
    CHECK(tree.has(name + "/x"));
  }
  CHECK(tree.has("train-" + std::string(40, 'c')));
  CHECK(tree.has("contexts/" + new_digest + ".tar.gz"));
}

TEST_CASE("a copy that an agent has locked is not old") {
  Tree tree;
  tree.write("runs/aaaaaaaa-0/x", "x");
  tree.age("runs/aaaaaaaa-0", 99999h);
  const Descriptor agent(
      ::open(tree.at("runs/aaaaaaaa-0").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(::flock(agent.get(), LOCK_SH | LOCK_NB) == 0);
  tidy_caches({tree.path()}, not_cancelled);
  CHECK(tree.has("runs/aaaaaaaa-0/x"));
}

TEST_CASE("a copy that is being removed is not adopted") {
  Tree tree;
  tree.write("runs/aaaaaaaa-0/x", "x");
  const auto cache = HostCache::open(tree.path(), HostCache::Make::nothing);
  REQUIRE(cache);
  CHECK(cache->adopt("aaaaaaaa-0"));
  const Descriptor remover(
      ::open(tree.at("runs/aaaaaaaa-0").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(::flock(remover.get(), LOCK_EX | LOCK_NB) == 0);
  CHECK_FALSE(cache->adopt("aaaaaaaa-0"));
}

TEST_CASE("a cache that is a link, or somebody else's, is left alone") {
  Tree tree, other;
  const std::string old_context = "contexts/" + old_digest + ".tar.gz";
  other.write(old_context, "x");
  other.age(old_context, 99999h);
  tree.link("place", other.path());
  tidy_caches({tree.at("place"), tree.at("gone")}, not_cancelled);
  CHECK(other.has(old_context));
  CHECK_FALSE(tree.has("gone"));
  if (::geteuid() != 0) SKIP_CASE("only root can make a folder of another user");
  REQUIRE(::chown(other.at(old_context).c_str(), 65534, 65534) == 0);
  tidy_caches({other.path()}, not_cancelled);
  CHECK(other.has(old_context));
}

TEST_CASE("tidying ends early") {
  Tree tree;
  const std::string old_context = "contexts/" + old_digest + ".tar.gz";
  tree.write(old_context, "x");
  tree.age(old_context, 99999h);
  const std::atomic<bool> cancelled{true};
  tidy_caches({tree.path()}, cancelled);
  CHECK(tree.has(old_context));
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
