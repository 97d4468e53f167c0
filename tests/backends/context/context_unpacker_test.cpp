// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_unpacker.hpp"

#include "backends/context/host_cache.hpp"
#include "tests/backends/context/tree.hpp"

using namespace train;
using Kind = ContextEntry::Kind;

namespace {

// A tree of random kinds, names, contents and holes.
void fill(const Tree& tree, std::mt19937& random) {
  std::vector<std::string> folders{""};
  for (int i = 0; i < 40; ++i) {
    std::string name = random() % 3 == 0 ? "\xff\x01 -\n" : "n";
    name += std::to_string(i) + std::string(random() % 4 == 0 ? 150 : 0, 'l');
    const std::string path = folders[random() % folders.size()] + name;
    switch (random() % 4) {
      case 0:
        tree.make(path, 0700 | (random() & 077));
        folders.push_back(path + "/");
        break;
      case 1:
        tree.link(path, random() % 2 == 0 ? "." : "nowhere/" + std::string(random() % 200, 't'));
        break;
      default:
        std::string content = random_bytes(random, random() % 9'000);
        content.insert(content.size() / 2, random() % 3 == 0 ? random() % 600'000 : 0, '\0');
        tree.write(path, content, 0400 | (random() & 0377));
    }
  }
}

Result<bool> unpack(const Tree& packed, const ArchivedContext& context, const Tree& into) {
  std::string bytes;
  for (const std::string& piece : pieces_of(context.archive)) bytes += piece;
  packed.write("packed", bytes);
  const Descriptor file(::open(packed.at("packed").c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor folder(::open(into.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return unpack_context(file.get(), context.context, folder.get(), "copy", not_cancelled);
}

std::string message_of(const Result<void>& result) {
  return result ? "" : result.error().diagnostics.front().message;
}

}  // namespace

TEST_CASE("what is unpacked has the name of what was packed, whatever is in it") {
  std::mt19937 random(11);
  for (int round = 0; round < 10; ++round) {
    Tree from, packed, into;
    fill(from, random);
    const ArchivedContext context = archived(from.path());
    REQUIRE(unpack(packed, context, into) == true);
    CHECK(archived(into.path()).context == context.context);
  }
}

TEST_CASE("zeros become holes") {
  Tree from, packed, into;
  std::string content(30u << 20, '\0');
  content[12'345'678] = 'x';
  from.write("sparse", content);
  from.write("zeros", std::string(1u << 20, '\0'));
  REQUIRE(unpack(packed, archived(from.path()), into) == true);
  struct stat status {};
  REQUIRE(::stat(into.at("sparse").c_str(), &status) == 0);
  CHECK(status.st_blocks * 512 < 100'000);
  CHECK(into.read("sparse") == content);
  CHECK(into.read("zeros") == std::string(1u << 20, '\0'));
}

TEST_CASE("another context than the announced one is not taken") {
  Tree from, packed, into;
  from.write("a", "content");
  ArchivedContext context = archived(from.path());
  SECTION("another checksum") { context.context.sha256[0] ^= 1; }
  SECTION("shorter than announced") { ++context.context.size; }
  SECTION("longer than announced") { --context.context.size; }
  SECTION("cut off") { context.archive.resize(context.archive.size() - 512); }
  SECTION("no archive") { context.archive = std::string(context.archive.size(), 'x'); }
  CHECK(unpack(packed, context, into) == false);
}

TEST_CASE("what expands without end is cut off at the announced size") {
  Tree packed, into;
  ArchivedContext bomb;
  bomb.archive = std::string(200u << 20, '\0');
  bomb.context = {std::string(64, '0'), 1'024};
  CHECK(unpack(packed, bomb, into) == false);
}

TEST_CASE("bytes after the end, and none at all, are not taken") {
  Tree from, packed, into;
  from.write("a", "content");
  const ArchivedContext context = archived(from.path());
  std::string bytes;
  for (const std::string& piece : pieces_of(context.archive)) bytes += piece;
  for (const std::string& bad : {std::string(), bytes + "x", bytes + bytes, bytes.substr(1)}) {
    packed.write("bad", bad);
    const Descriptor file(::open(packed.at("bad").c_str(), O_RDONLY | O_CLOEXEC));
    Tree fresh;
    const Descriptor folder(::open(fresh.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    CHECK(unpack_context(file.get(), context.context, folder.get(), "copy", not_cancelled) ==
          false);
  }
}

// The reader of archives lets nothing like this through; the unpacker does not rely on it.
TEST_CASE("nothing is written through a link or over what is there") {
  Tree outside, into;
  into.link("link", outside.path());
  into.write("file", "kept");
  into.link("dangling", outside.at("made"));
  const Descriptor folder(::open(into.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ContextUnpacker unpacker(folder.get(), "copy");
  CHECK_THAT(message_of(unpacker.begin({Kind::file, "link/x", 0644, 0, {}})),
             Catch::Contains("cannot enter the folder of 'copy/link/x'"));
  CHECK_THAT(message_of(unpacker.begin({Kind::file, "file", 0644, 0, {}})),
             Catch::Contains("cannot make 'copy/file': file exists"));
  CHECK_FALSE(unpacker.begin({Kind::file, "dangling", 0644, 0, {}}));
  CHECK_FALSE(unpacker.begin({Kind::folder, "link", 0755, 0, {}}));
  CHECK_FALSE(unpacker.begin({Kind::link, "file", 0777, 0, "x"}));
  CHECK(into.read("file") == "kept");
  CHECK(outside.names(".").empty());
}

TEST_CASE("modes are what they were, whatever the umask") {
  const mode_t mask = ::umask(0077);
  Tree from, packed, into;
  from.write("run", "", 0755);
  from.write("read", "", 0444);
  from.make("open", 0777);
  const auto unpacked = unpack(packed, archived(from.path()), into);
  ::umask(mask);
  REQUIRE(unpacked == true);
  const auto mode_of = [&](const char* name) {
    struct stat status {};
    REQUIRE(::stat(into.at(name).c_str(), &status) == 0);
    return status.st_mode & 07777;
  };
  CHECK(mode_of("run") == 0755);
  CHECK(mode_of("read") == 0444);
  CHECK(mode_of("open") == 0777);
}
