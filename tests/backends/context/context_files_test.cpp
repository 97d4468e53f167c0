// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_files.hpp"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/backends/context/tree.hpp"
#include "tests/exchanger.hpp"
#include "tests/skip.hpp"
#include "tests/support/waiting.hpp"

using namespace train;

namespace {

std::vector<std::string> paths_in(const Tree& tree) {
  const auto files = find_context_files(tree.path(), {}, not_cancelled);
  REQUIRE(files);
  std::vector<std::string> paths;
  for (const ContextEntry& entry : files->entries) paths.push_back(entry.path);
  return paths;
}

Error error_of(const std::string& directory) {
  const auto files = find_context_files(directory, {}, not_cancelled);
  REQUIRE_FALSE(files);
  return files.error();
}

// How many things in the tree a user other than root is told not to be able to read.
int unreadable_for_a_user(const Tree& tree) {
  constexpr uid_t nobody = 65534;
  const bool is_root = ::geteuid() == 0;
  if (is_root) REQUIRE(::chown(tree.path().c_str(), nobody, nobody) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (is_root && ::setuid(nobody) != 0) ::_exit(255);
    const auto files = find_context_files(tree.path(), {}, not_cancelled);
    ::_exit(files ? 0 : static_cast<int>(files.error().diagnostics.size()));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("a context has everything of a directory, in the order of its archive") {
  Tree tree;
  tree.write("b/x", "");
  tree.write("b-", "");
  tree.write(".hidden", "");
  tree.make("a");
  CHECK(paths_in(tree) == Paths{".hidden", "a", "b", "b-", "b/x"});
}

TEST_CASE("the .gitignore of every folder counts where there is no file of our own") {
  Tree tree;
  tree.write(".gitignore", "*.bin\n");
  tree.write("a.bin", "");
  tree.write("sub/.gitignore", "!*.bin\nlocal\n");
  tree.write("sub/b.bin", "");
  tree.write("sub/local", "");
  tree.write("local", "");
  CHECK(paths_in(tree) == Paths{".gitignore", "local", "sub", "sub/.gitignore", "sub/b.bin"});
}

TEST_CASE(".trainignore adds to every .gitignore, and brings back what they leave out") {
  Tree tree;
  tree.write(".gitignore", "*.bin\ndata/\n");
  tree.write("sub/.gitignore", "local\n");
  for (const char* name : {"a.bin", "b.bin", "c", "data/x", "sub/local", "sub/y"})
    tree.write(name, "");
  tree.write(".trainignore", "c\n!b.bin\n!data/\n!sub/local\n");
  CHECK(paths_in(tree) == Paths{".gitignore", "b.bin", "data", "data/x", "sub", "sub/.gitignore",
                                "sub/local", "sub/y"});
}

TEST_CASE(".detignore counts instead of every .gitignore, and .trainignore adds to it") {
  Tree tree;
  tree.write(".gitignore", "kept\n");
  tree.write("kept", "");
  tree.write("a", "");
  tree.write("b", "");
  SECTION("alone") {
    tree.write(".detignore", "a\n");
    CHECK(paths_in(tree) == Paths{".gitignore", "b", "kept"});
  }
  SECTION("both") {
    tree.write(".detignore", "a\nb\n");
    tree.write(".trainignore", "!b\n");
    CHECK(paths_in(tree) == Paths{".gitignore", "b", "kept"});
  }
}

TEST_CASE("a .gitignore that is a link is not followed, as git does not") {
  Tree tree, outside;
  outside.write("rules", "a\n");
  tree.write("a", "");
  tree.link(".gitignore", "sub/rules");
  tree.write("sub/rules", "a\n");
  const auto files = find_context_files(tree.path(), {}, not_cancelled);
  REQUIRE(files);
  CHECK(files->entries.size() == 4);
  CHECK(files->warnings == Paths{"'.gitignore' is a link, and is not read"});
}

TEST_CASE("files that commonly hold secrets are warned of, unless they stay at home") {
  Tree tree;
  for (const char* name : {".env", "code/id_rsa", ".aws/credentials", "a.pem", ".netrc", "main.py"})
    tree.write(name, "");
  tree.write(".trainignore", ".netrc\n");
  const auto files = find_context_files(tree.path(), {}, not_cancelled);
  REQUIRE(files);
  CHECK(files->warnings ==
        Paths{"the context has files that commonly hold keys or passwords, and that every host "
              "gets: '.aws/credentials', '.env', 'a.pem', 'code/id_rsa'; to leave them out, name "
              "them in .trainignore"});
  tree.write(".gitignore", ".aws\n*.pem\nid_*\n.env\n");
  CHECK(find_context_files(tree.path(), {}, not_cancelled)->warnings.empty());
}

TEST_CASE("a folder that becomes a link while it is read lets nothing of elsewhere travel",
          "[once]") {
  Tree tree, outside;
  outside.write("deep/file", "SECRET");
  outside.write("deep/other", "SECRET");
  tree.write("context/sub/deep/file", "public");
  outside.link("link", outside.path());
  const Exchanger exchanger(tree.at("context/sub"), outside.at("link"));
  int packed = 0;
  // A link is refused: how often one is met is the machine's business.
  CHECK(testing::eventually(
      [&] {
        const auto context = archive_context(tree.at("context"), {}, not_cancelled);
        if (!context) return false;
        REQUIRE(context->archive.find("SECRET") == std::string::npos);
        REQUIRE(context->archive.find("other") == std::string::npos);
        return ++packed == 300;
      },
      std::chrono::seconds(60)));
}

TEST_CASE("what is ignored is not even looked at") {
  Tree tree;
  tree.write(".trainignore", "out\nhuge\n");
  tree.link("out", "/etc");
  tree.write("huge", "");
  REQUIRE(::truncate(tree.at("huge").c_str(), off_t{1} << 40) == 0);
  CHECK(paths_in(tree).empty());
}

TEST_CASE("links that stay inside travel as links, whether they lead anywhere or not") {
  Tree tree;
  tree.write("a/file", "");
  tree.link("a/up", "../a/file");
  tree.link("gone", "nowhere");
  tree.link("self", ".");
  const auto files = find_context_files(tree.path(), {}, not_cancelled);
  REQUIRE(files);
  REQUIRE(files->entries.size() == 5);
  CHECK(files->entries[2] == ContextEntry{ContextEntry::Kind::link, "a/up", 0777, 0, "../a/file"});
}

TEST_CASE("all links that leave are named at once") {
  Tree tree;
  tree.make("a");
  tree.link("a/out", "../../x");
  tree.link("abs", "/etc/passwd");
  tree.link("own", tree.path() + "/a");
  tree.link("dot", ".");
  tree.link("around", "dot/../../etc");  // inside as it is written only
  tree.link("through", "dot/..");
  const Error error = error_of(tree.path());
  CHECK(error.error_class == ErrorClass::config);
  REQUIRE(error.diagnostics.size() == 5);
  CHECK(error.diagnostics[0].message ==
        "the link 'a/out' of the context points to '../../x', outside of it");
  CHECK(error.diagnostics[3].message ==
        "the link 'own' of the context points to '" + tree.path() + "/a', by an absolute path");
  CHECK(error.diagnostics[3].hint == "make it relative: ln -srf");
}

TEST_CASE("a device, a socket or a FIFO is left out with a warning") {
  Tree tree;
  REQUIRE(::mkfifo(tree.at("fifo").c_str(), 0600) == 0);
  const auto files = find_context_files(tree.path(), {}, not_cancelled);
  REQUIRE(files);
  CHECK(files->entries.empty());
  CHECK(files->warnings ==
        Paths{"'fifo' is no file, folder or link, and is left out of the context"});
}

TEST_CASE("what this process writes to is left out with a warning") {
  Tree tree;
  tree.write("log", "");
  struct stat status {};
  REQUIRE(::stat(tree.at("log").c_str(), &status) == 0);
  const auto files =
      find_context_files(tree.path(), {{status.st_dev, status.st_ino}}, not_cancelled);
  REQUIRE(files);
  CHECK(files->entries.empty());
  CHECK(files->warnings == Paths{"'log' is what train writes to, and is left out of the context"});
}

TEST_CASE("a context that is too large is refused with its biggest files") {
  Tree tree;
  for (int i = 0; i < 7; ++i) {
    const std::string name = "f" + std::to_string(i);
    tree.write(name, "");
    REQUIRE(::truncate(tree.at(name).c_str(), (i + 1) * (off_t{5} << 20)) == 0);
  }
  const Error error = error_of(tree.path());
  CHECK(error.error_class == ErrorClass::config);
  CHECK(error.diagnostics[0].message ==
        "the context '" + tree.path() +
            "' has 140.0 MiB, more than the 100.0 MiB that may travel; 'f6' has 35.0 MiB, 'f5' has "
            "30.0 MiB, 'f4' has 25.0 MiB, 'f3' has 20.0 MiB, 'f2' has 15.0 MiB");
  CHECK_THAT(error.diagnostics[0].hint, Catch::Contains(tree.path() + "/.trainignore"));
}

TEST_CASE("a file as large as numbers are does not turn the sum around") {
  Tree tree;
  for (const char* name : {"a", "b", "c"}) {
    tree.write(name, "");
    if (::truncate(tree.at(name).c_str(), off_t{1} << 43) != 0)
      SKIP_CASE("the file system takes no file of 8 TiB");
  }
  CHECK_THAT(error_of(tree.path()).diagnostics[0].message, Catch::Contains("more than"));
}

TEST_CASE("a directory that is not there, or a file, is no context") {
  Tree tree;
  tree.write("file", "");
  CHECK(error_of(tree.at("gone")).error_class == ErrorClass::no_input);
  CHECK(error_of(tree.at("file")).error_class == ErrorClass::no_input);
}

TEST_CASE("all that cannot be read is named at once") {
  Tree tree;
  tree.write("a", "", 0000);
  tree.write("b", "", 0000);
  tree.make("c", 0000);
  CHECK(unreadable_for_a_user(tree) == 3);
  tree.make("c");
}

TEST_CASE("an ignore file without bounds is refused") {
  Tree tree;
  tree.write(".trainignore", std::string(2u << 20, 'x'));
  CHECK_THAT(error_of(tree.path()).diagnostics[0].message,
             Catch::Contains("more than 10,000 lines or 1 MiB"));
}
