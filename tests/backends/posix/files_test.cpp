// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

struct Scene {
  TemporaryDirectory folder;

  std::string at(const std::string& name) const { return folder.path() + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name)) << text;
    return at(name);
  }
};

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("a folder is read without itself and its parent") {
  const Scene scene;
  scene.write("one", "");
  scene.write(".two", "");
  CHECK(sorted(names_in(FolderReader(scene.folder.path()))) ==
        std::vector<std::string>{".two", "one"});
  CHECK(names_in(FolderReader(scene.folder.path()), 1).size() == 1);
}

TEST_CASE("an open folder is read from its beginning, as often as one likes") {
  const Scene scene;
  scene.write("one", "");
  const Descriptor folder(::open(scene.folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int time = 0; time < 2; ++time)
    CHECK(names_in(FolderReader(folder.get())) == std::vector<std::string>{"one"});
  CHECK(::fcntl(folder.get(), F_GETFD) >= 0);
}

TEST_CASE("a folder that cannot be read says why") {
  const Scene scene;
  const FolderReader missing(scene.at("missing"));
  CHECK(errno == ENOENT);
  CHECK_FALSE(missing);
  const FolderReader file(Descriptor(::open(scene.write("file", "").c_str(), O_RDONLY)));
  CHECK(errno == ENOTDIR);
  CHECK_FALSE(file);
  CHECK(names_in(FolderReader(scene.at("missing"))).empty());
}

TEST_CASE("the end of a folder leaves no errno behind") {
  const Scene scene;
  FolderReader reader(scene.folder.path());
  errno = EIO;
  CHECK(reader.next() == nullptr);
  CHECK(errno == 0);
}

TEST_CASE("a file is read to its end, or as far as there is room") {
  const Scene scene;
  const Descriptor file(::open(scene.write("file", "0123456789").c_str(), O_RDONLY));
  char buffer[16] = {};
  CHECK(read_whole_at(file.get(), buffer, 4, 3) == 4);
  CHECK(std::string(buffer, 4) == "3456");
  CHECK(read_whole_at(file.get(), buffer, sizeof buffer, 8) == 2);
  CHECK(read_whole_at(file.get(), buffer, sizeof buffer, 11) == 0);
  CHECK(read_whole(file.get(), buffer, 4) == 4);  // from the beginning, still
  CHECK(read_whole(file.get(), buffer, sizeof buffer) == 6);
  CHECK(read_whole(-1, buffer, 1) == -1);
  CHECK(errno == EBADF);
}

TEST_CASE("a small file is cut at the limit, and nobody waits for a pipe") {
  const Scene scene;
  const std::string text(10'000, 'x');
  CHECK(read_small_file(scene.write("file", text)) == text);
  CHECK(read_small_file(scene.at("file"), 5'000).size() == 5'000);
  CHECK(read_small_file(scene.at("missing")).empty());
  REQUIRE(::mkfifo(scene.at("pipe").c_str(), 0600) == 0);
  CHECK(read_small_file(scene.at("pipe")).empty());
}

TEST_CASE("all is written, over what was there") {
  const Scene scene;
  const Descriptor file(::open(scene.write("file", "0123456789").c_str(), O_RDWR));
  CHECK(write_whole_at(file.get(), "abc", 2) == 0);
  CHECK(read_small_file(scene.at("file")) == "01abc56789");
  CHECK(write_whole(file.get(), "ABCD") == 0);
  CHECK(read_small_file(scene.at("file")) == "ABCDc56789");
  CHECK(write_whole(-1, "x") == EBADF);
  CHECK(write_whole_at(-1, "x", 0) == EBADF);
}

TEST_CASE("writing waits for whoever reads a full pipe") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  REQUIRE(::fcntl(pipe->write_end.get(), F_SETFL, O_NONBLOCK) == 0);
  const std::string text(1u << 20, 'x');
  std::string read(text.size(), '\0');
  ssize_t count = 0;
  std::thread reader([&] { count = read_whole(pipe->read_end.get(), read.data(), read.size()); });
  CHECK(write_whole(pipe->write_end.get(), text) == 0);
  reader.join();
  CHECK(count == static_cast<ssize_t>(text.size()));
  CHECK(read == text);
}

TEST_CASE("a new file takes no name that something has") {
  const Scene scene;
  const auto made = write_new_file(scene.at("new"), "text");
  REQUIRE(made);
  CHECK(*made);
  CHECK(read_small_file(scene.at("new")) == "text");
  REQUIRE(::symlink(scene.at("nowhere").c_str(), scene.at("link").c_str()) == 0);
  REQUIRE(::mkdir(scene.at("folder").c_str(), 0700) == 0);
  for (const char* const name : {"new", "link", "folder"}) {
    const auto again = write_new_file(scene.at(name), "other");
    REQUIRE(again);
    CHECK_FALSE(*again);
  }
  CHECK(read_small_file(scene.at("new")) == "text");
  CHECK(sorted(names_in(FolderReader(scene.folder.path()))) ==
        std::vector<std::string>{"folder", "link", "new"});
  const auto nowhere = write_new_file(scene.at("missing/new"), "text");
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().error_class == ErrorClass::no_input);
  CHECK_FALSE(write_new_file("", "text"));
}
