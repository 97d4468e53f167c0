// SPDX-License-Identifier: Apache-2.0
#include "backends/results/result_writer.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <functional>

#include "backends/results/file_identity.hpp"
#include "tests/backends/context/tree.hpp"

using namespace train;
using namespace get_talk;

namespace {

ResultWriter writer_into(const Tree& tree, IfThere if_there = IfThere::refuse, mode_t mask = 022) {
  return {tree.path(), "out", if_there, mask};
}

std::string message_of(const Result<void>& result) {
  return result ? "" : result.error().diagnostics.front().message;
}

Found folder() { return {Kind::folder, "/there/out", 0755, 0}; }
Found file(std::uint64_t size, unsigned mode = 0644) {
  return {Kind::file, "/there/out", mode, size};
}
Entry folder_named(const std::string& name, unsigned mode = 0755) {
  return {Kind::folder, name, mode, 0, {}};
}
Entry file_named(const std::string& name, unsigned mode = 0644) {
  return {Kind::file, name, mode, 0, {}};
}
Entry link_named(const std::string& name, const std::string& target) {
  return {Kind::link, name, 0, 0, target};
}

// What a sync meets: 0 or errno.
std::function<int(const char* call)> on_sync;

int sync_by(const char* call, long number, int fd) {
  if (const int error = on_sync ? on_sync(call) : 0; error != 0) {
    errno = error;
    return -1;
  }
  return static_cast<int>(::syscall(number, fd));
}

void take(ResultWriter& writer, const std::vector<GetMessage>& messages) {
  for (const GetMessage& message : messages) {
    const auto taken = writer.take(message);
    if (!taken) FAIL(render(taken.error()));
  }
}

void take_file(ResultWriter& writer, const std::string& name, const std::string& content) {
  take(writer, {file_named(name)});
  if (!content.empty()) REQUIRE(writer.take_content(content));
  take(writer, {FileEnd{true}});
}

unsigned mode_of(const Tree& tree, const std::string& name) {
  struct stat status {};
  REQUIRE(::lstat(tree.at(name).c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

// In place of those of the C library.
extern "C" int fdatasync(int fd) { return sync_by("fdatasync", SYS_fdatasync, fd); }
extern "C" int syncfs(int fd) noexcept { return sync_by("syncfs", SYS_syncfs, fd); }

TEST_CASE("what has the wanted name is on the disk, by one sync") {
  const Tree tree;
  std::string synced;
  on_sync = [&](const char* call) {
    synced += std::string(call) + (tree.has("out") ? " late " : " ");
    return 0;
  };
  ResultWriter folders = writer_into(tree);
  take(folders, {folder(), folder_named("sub")});
  for (const char* const name : {"a", "b", "c"}) take_file(folders, name, "12345");
  take(folders, {FolderEnd{}, FolderEnd{}});
  REQUIRE(folders.finish());
  CHECK(synced == "syncfs ");
  std::filesystem::remove_all(tree.at("out"));
  synced.clear();
  ResultWriter files = writer_into(tree);
  take(files, {file(5)});
  REQUIRE(files.take_content("12345"));
  take(files, {FileEnd{true}});
  REQUIRE(files.finish());
  CHECK(synced == "fdatasync ");
  on_sync = nullptr;
}

TEST_CASE("what a disk has lost gets no name, and a file system without a sync gives one") {
  for (const int error : {EIO, EINVAL, EROFS}) {
    const Tree tree;
    on_sync = [&](const char*) { return error; };
    ResultWriter folders = writer_into(tree);
    take(folders, {folder()});
    take_file(folders, "a", "12345");
    take(folders, {FolderEnd{}});
    const auto finished = folders.finish();
    CHECK(message_of(finished) ==
          (error == EIO ? "cannot write '" + tree.at("out") + "': input/output error" : ""));
    CHECK(tree.has("out") == (error != EIO));
    CHECK((finished || folders.discard()));
    ResultWriter files = {tree.path(), "file", IfThere::refuse, 022};
    take(files, {file(0)});
    CHECK(static_cast<bool>(files.take(FileEnd{true})) == (error != EIO));
    on_sync = nullptr;
    CHECK_FALSE(tree.has("file"));
    CHECK(files.discard());
  }
}

TEST_CASE("nothing has the wanted name before all has come") {
  const Tree tree;
  ResultWriter writer = writer_into(tree);
  take(writer, {folder(), folder_named("a\nb"), link_named("latest", "../../../etc")});
  take_file(writer, "weights", "12345");
  take(writer, {FolderEnd{}});
  take_file(writer, "log", "");
  take(writer, {FolderEnd{}});
  CHECK_FALSE(tree.has("out"));
  REQUIRE(tree.names("").size() == 1);
  CHECK(is_get_part(tree.names("").front()));
  REQUIRE(writer.finish());
  CHECK(tree.names("") == std::vector<std::string>{"out"});
  CHECK(tree.read("out/a\nb/weights") == "12345");
  CHECK(tree.has("out/log"));
  CHECK(std::filesystem::read_symlink(tree.at("out/a\nb/latest")) == "../../../etc");
  CHECK(writer.files() == 2);
  CHECK(writer.bytes() == 5);
}

TEST_CASE("what is given up leaves nothing behind") {
  const Tree tree;
  ResultWriter writer = writer_into(tree);
  CHECK(writer.discard());
  take(writer, {folder(), folder_named("closed", 0)});
  take_file(writer, "x", "1");
  take(writer, {FolderEnd{}, folder_named("open"), file_named("half")});
  REQUIRE(writer.take_content("1"));
  CHECK(tree.names("").size() == 1);
  CHECK(writer.discard());
  CHECK(tree.names("").empty());
}

TEST_CASE("a link in what comes is never gone through") {
  const Tree tree;
  tree.make("outside");
  ResultWriter writer = writer_into(tree);
  take(writer, {folder(), link_named("escape", tree.at("outside"))});
  CHECK_FALSE(writer.take(folder_named("escape")));
  CHECK_FALSE(writer.take(file_named("escape")));
  CHECK_FALSE(writer.take(link_named("escape", "elsewhere")));
  // The folder that is open is the one that was made, whatever has its name now.
  take(writer, {folder_named("sub")});
  std::filesystem::remove(writer.part_path() + "/sub");
  std::filesystem::create_directory_symlink(tree.at("outside"), writer.part_path() + "/sub");
  (void)writer.take(file_named("x"));
  CHECK(tree.names("outside").empty());
  CHECK(writer.discard());
  CHECK(tree.has("outside"));
}

TEST_CASE("a name comes once in a folder") {
  const Tree tree;
  ResultWriter writer = writer_into(tree);
  take(writer, {folder()});
  take_file(writer, "x", "first");
  const auto again = writer.take(file_named("x"));
  CHECK(message_of(again) == "cannot write '" + tree.at("out/x") + "': file exists");
  CHECK(again.error().error_class == ErrorClass::no_input);
}

TEST_CASE("modes are those of the host, without setuid and what the umask takes") {
  const Tree tree;
  ResultWriter writer = writer_into(tree, IfThere::refuse, 027);
  take(writer, {folder(), folder_named("closed", 0077), FolderEnd{}, file_named("run", 04777),
                FileEnd{true}, file_named("read", 0444), FileEnd{true}, FolderEnd{}});
  REQUIRE(writer.finish());
  CHECK(mode_of(tree, "out") == 0750);
  CHECK(mode_of(tree, "out/closed") == 0750);
  CHECK(mode_of(tree, "out/run") == 0750);
  CHECK(mode_of(tree, "out/read") == 0440);
}

TEST_CASE("zeros become holes, and a file has its length") {
  const Tree tree;
  ResultWriter writer = writer_into(tree);
  const std::string zeros(longest_get_piece, '\0');
  take(writer, {file(4 * zeros.size() + 1)});
  REQUIRE(writer.take_content("x"));
  for (int i = 0; i < 4; ++i) REQUIRE(writer.take_content(zeros));
  take(writer, {FileEnd{true}});
  REQUIRE(writer.finish());
  CHECK(tree.read("out") == "x" + zeros + zeros + zeros + zeros);
  struct stat status {};
  REQUIRE(::stat(tree.at("out").c_str(), &status) == 0);
  CHECK(static_cast<std::uint64_t>(status.st_blocks) * 512 < zeros.size());
}

TEST_CASE("a file that did not come whole is not kept, and all else is") {
  const Tree tree;
  ResultWriter writer = writer_into(tree);
  take(writer, {folder(), file_named("half")});
  REQUIRE(writer.take_content("1"));
  take(writer, {FileEnd{false}});
  take_file(writer, "whole", "2");
  take(writer, {FolderEnd{}});
  REQUIRE(writer.finish());
  CHECK(tree.names("out") == std::vector<std::string>{"whole"});
  CHECK(writer.files() == 1);

  const Tree other;
  ResultWriter alone = writer_into(other);
  take(alone, {file(2)});
  REQUIRE(alone.take_content("1"));
  take(alone, {FileEnd{false}});
  REQUIRE(alone.finish());
  CHECK(other.names("").empty());
}

TEST_CASE("what is there already stays, also when it came meanwhile") {
  const Tree tree;
  tree.write("out", "mine");
  ResultWriter late = writer_into(tree);
  const auto refused = late.take(file(0));
  CHECK(message_of(refused) == "'" + tree.at("out") + "' is there already");
  CHECK(refused.error().error_class == ErrorClass::usage);

  const Tree other;
  ResultWriter writer = writer_into(other);
  take(writer, {file(0), FileEnd{true}});
  other.link("out", "nowhere");
  CHECK(message_of(writer.finish()) == "'" + other.at("out") + "' is there already");
  REQUIRE(writer.discard());
  CHECK(other.names("") == std::vector<std::string>{"out"});
}

TEST_CASE("what is there is replaced where that was said, by the same kind alone") {
  const Tree tree;
  tree.write("target", "stays");
  tree.link("out", "target");
  ResultWriter over_link = writer_into(tree, IfThere::replace);
  take(over_link, {file(1)});
  REQUIRE(over_link.take_content("2"));
  take(over_link, {FileEnd{true}});
  REQUIRE(over_link.finish());
  CHECK(tree.read("out") == "2");
  CHECK(tree.read("target") == "stays");
  ResultWriter folder_over_file = writer_into(tree, IfThere::replace);
  CHECK(message_of(folder_over_file.take(folder())) ==
        "'" + tree.at("out") + "' is no folder, and what comes is one");

  const Tree other;
  other.write("out/old/file", "old");
  ResultWriter file_over_folder = writer_into(other, IfThere::replace);
  CHECK(message_of(file_over_folder.take(file(0))) ==
        "'" + other.at("out") + "' is a folder, and what comes is a file");
  ResultWriter over_folder = writer_into(other, IfThere::replace);
  take(over_folder, {folder()});
  take_file(over_folder, "new", "new");
  take(over_folder, {FolderEnd{}});
  CHECK(other.read("out/old/file") == "old");
  REQUIRE(over_folder.finish());
  CHECK(other.names("") == std::vector<std::string>{"out"});
  CHECK(other.names("out") == std::vector<std::string>{"new"});
}

TEST_CASE("nothing replaces itself, also where another machine has the same file system") {
  const Tree tree;
  tree.write("out/log", "a rank writes here");
  const Descriptor parent(::open(tree.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Identity seen = identity_of(parent.get(), "out");
  CHECK_FALSE(seen.changed.empty());
  CHECK_FALSE(is_same(seen, identity_of(parent.get(), "out/log")));
  CHECK(identity_of(parent.get(), "none") == Identity{});
  const Descriptor opened(::open(tree.at("out").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(identity_of(opened.get()) == seen);
  // Another machine may not be told when it was made.
  for (const Identity& identity : {seen, Identity{"", seen.changed}}) {
    ResultWriter writer = writer_into(tree, IfThere::replace);
    Found same = folder();
    same.identity = identity;
    const auto refused = writer.take(same);
    CHECK(message_of(refused) ==
          "'" + tree.at("out") + "' is the one on that host: both have this file system");
    CHECK(refused.error().error_class == ErrorClass::usage);
    CHECK(writer.discard());
  }
  CHECK(tree.names("") == std::vector<std::string>{"out"});
  tree.link("latest", "out");
  CHECK_FALSE(is_same(seen, identity_of(parent.get(), "latest")));
}
