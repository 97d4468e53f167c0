// SPDX-License-Identifier: Apache-2.0
#include "backends/process/programs.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

TEST_CASE("a program is found as a shell would find it") {
  TemporaryDirectory directory;
  const std::string& base = directory.path();
  ::mkdir((base + "/bin").c_str(), 0755);
  ::mkdir((base + "/shadow").c_str(), 0755);
  ::mkdir((base + "/shadow/tool").c_str(), 0755);
  directory.write("bin/tool", "#!/bin/sh\n", 0755);
  directory.write("bin/plain", "", 0644);
  directory.write("here", "#!/bin/sh\n", 0755);
  struct Row {
    std::string name;
    std::string path;
    std::string found;  ///< empty: an error that contains `message`
    std::string message;
  };
  const std::vector<Row> rows = {
      {"sh", "/usr/bin:/bin", "/usr/bin/sh", ""},
      {"tool", "/usr/bin:" + base + "/bin", base + "/bin/tool", ""},
      {"tool", base + "/shadow:" + base + "/bin", base + "/bin/tool", ""},
      {"tool", "bin", base + "/bin/tool", ""},
      {"here", "/usr/bin:", base + "/here", ""},
      {"here", ":/usr/bin", base + "/here", ""},
      {"bin/tool", "", base + "/bin/tool", ""},
      {base + "/bin/tool", "", base + "/bin/tool", ""},
      {"pyhton3", "/usr/bin:/bin", "",
       "program 'pyhton3' was not found; searched PATH=/usr/bin:/bin"},
      {"tool", base + "/shadow", "", "but it is a directory"},
      {"plain", base + "/bin", "", "bin/plain' was found, but permission denied"},
      {"bin/plain", "", "", "it is not executable"},
      {"./bin", "", "", "it is a directory"},
      {"./absent", "", "", "no such file"},
      {"", "/bin", "", "empty"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name, row.path);
    const auto found = find_program(row.name, row.path, base);
    CHECK(found.has_value() == !row.found.empty());
    if (found) CHECK(*found == row.found);
    if (found) continue;
    CHECK(found.error().error_class == ErrorClass::missing);
    CHECK_THAT(render(found.error()), Catch::Matchers::Contains(row.message));
  }
}

TEST_CASE("the interpreter of a script is read from its first line") {
  TemporaryDirectory directory;
  struct Row {
    const char* text;
    std::optional<std::string> interpreter;
  };
  const auto row =
      GENERATE(Row{"#!/bin/sh\n", "/bin/sh"}, Row{"#! /usr/bin/env python3\n", "/usr/bin/env"},
               Row{"#!/bin/sh", "/bin/sh"}, Row{"#!\n", std::nullopt},
               Row{"echo hi\n", std::nullopt}, Row{"", std::nullopt});
  CHECK(interpreter_of(directory.write("script", row.text, 0755)) == row.interpreter);
}

TEST_CASE("the script of an interpreter is looked for where the rank will run") {
  TemporaryDirectory directory;
  const std::string& base = directory.path();
  ::mkdir((base + "/lib").c_str(), 0755);
  ::mkdir((base + "/bin").c_str(), 0755);
  directory.write("prog.py", "", 0644);
  directory.write("lib/prog.py", "", 0644);
  directory.write("bin/tool.sh", "", 0644);
  const auto said = [&](const InterpretedScript& script) {
    const auto there = check_script(script, "/usr/bin:bin", base, "do something");
    if (there) return std::string();
    CHECK(there.error().error_class == ErrorClass::missing);
    const Diagnostic& problem = there.error().diagnostics.front();
    return problem.message + "; " + problem.hint;
  };
  CHECK(said({"python3", "prog.py", false}) == "");
  CHECK(said({"python3", "lib", false}) == "");
  CHECK(said({"python3", base + "/lib/prog.py", false}) == "");
  CHECK(said({"bash", "tool.sh", true}) == "");
  CHECK(said({"bash", "tool.sh", false}) ==
        "bash cannot read its script '" + base + "/tool.sh': no such file; do something");
  CHECK(said({"python3", "prgo.py", false}) ==
        "python3 cannot read its script '" + base +
            "/prgo.py': no such file; did you mean 'prog.py'?");
  CHECK(said({"python3", "lib/porg.py", false}).ends_with("; did you mean 'lib/prog.py'?"));
  CHECK(said({"python3", base + "/lib/porg.py", false})
            .ends_with("; did you mean '" + base + "/lib/prog.py'?"));
  CHECK(said({"python3", "nowhere/prog.py", false}).ends_with("; do something"));
  CHECK(said({"python3", "prog.py/x", false}).find("not a directory") != std::string::npos);
}

TEST_CASE("a working directory is checked before anything starts") {
  TemporaryDirectory directory;
  CHECK(check_working_directory(directory.path()));
  CHECK_FALSE(check_working_directory(directory.path() + "/absent"));
  CHECK_FALSE(check_working_directory(directory.write("file", "")));
  CHECK_FALSE(check_working_directory("relative"));
  CHECK_FALSE(check_working_directory(""));
}

TEST_CASE("an errno for a path speaks of what was named, or of the host") {
  for (const int error :
       {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG, ENOEXEC, ELIBBAD, EINVAL})
    CHECK(class_of_file_error(error) == ErrorClass::missing);
  for (const int error : {EMFILE, ENFILE, ENOMEM, EAGAIN, EIO, ESTALE, ENOTCONN, ETIMEDOUT, ETXTBSY,
                          EHOSTDOWN, EUCLEAN})
    CHECK(class_of_file_error(error) == ErrorClass::host);
}
