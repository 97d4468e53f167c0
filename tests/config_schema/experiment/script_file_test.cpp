// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/script_file.hpp"

#include "config_schema/config_check.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;

namespace {

// What is said of a text instead of reading it, "MESSAGE; HINT"; every reader says the same.
std::string said_of(const std::string& name, const std::string& text) {
  const SourceText source{name, text};
  const auto config = parse_experiment(source, {}, ReadFor::checking);
  const auto findings = check_file(source, kind_of(source));
  if (config) return "accepted";
  REQUIRE_FALSE(findings.empty());
  CHECK(config.error().error_class == ErrorClass::config);
  const Diagnostic& said = config.error().diagnostics.front();
  CHECK(findings.front().diagnostic == said);
  return said.message + "; " + said.hint;
}

const std::string a_script = "this is a script, not an experiment; to run it: train launch -- ";

}  // namespace

TEST_CASE("a script where an experiment is expected is told with the command that runs it") {
  struct Row {
    const char* name;
    const char* text;
    const char* command;
  };
  const auto row = GENERATE(
      Row{"prog.py", "import os\n\ndef main(argv: list) -> None:\n    x = {1: 2}\n",
          "python3 prog.py"},
      Row{"a/prog.py", "def main():\n  run()\n", "python3 a/prog.py"},
      Row{"my prog.py", "import os\n", "python3 'my prog.py'"}, Row{"e.py", "", "python3 e.py"},
      Row{"x.sh", "set -e\nif true; then echo \"a: b\"; fi\n", "bash x.sh"},
      Row{"x.sh", "#!/bin/sh\nFOO=1\n", "bash x.sh"}, Row{"x.R", "library(a)\n", "Rscript x.R"},
      Row{"run", "#!/bin/sh\nexec true\n", "/bin/sh run"},
      Row{"run", "#!/usr/bin/env python3\ndef main():\n  run()\n", "python3 run"},
      Row{"run", "#! /usr/bin/env -S A=1 python3 -u\r\nx = 1\r\n", "python3 -u run"},
      Row{"run", "\xef\xbb\xbf#!/bin/sh\r\nexec true\r\n", "/bin/sh run"},
      Row{"run", "#!/usr/bin/env\nx = 1\n", "./run"});
  CAPTURE(row.name, row.text);
  CHECK(said_of(row.name, row.text) == a_script + row.command);
}

TEST_CASE("a program of the machine is told from an experiment, whatever its name") {
  CHECK(said_of("prog", std::string("\177ELF\x02\x01\x01\0\0\xff", 10)) ==
        "this is a program, not an experiment; to run it: train launch -- ./prog");
  CHECK(said_of("bin/e.yaml", std::string("\177ELF\0", 5)) ==
        "this is a program, not an experiment; to run it: train launch -- bin/e.yaml");
}

TEST_CASE("a script on standard input has no path to run") {
  CHECK(said_of("-", "#!/bin/sh\nexec true\n").find("write it to a file") != std::string::npos);
}

TEST_CASE("an experiment with a fault is no script") {
  const auto is_script = [](const char* name, const char* text) {
    INFO(name);
    INFO(text);
    return said_of(name, text).find("not an experiment") != std::string::npos;
  };
  const char* broken = "entrypoint: python3 train.py\nresources: slots_per_trial: 4\n";
  CHECK_FALSE(is_script("e.yaml", broken));
  CHECK_FALSE(is_script("e", broken));
  CHECK_FALSE(is_script("-", broken));
  CHECK_FALSE(is_script("e.yaml", "#!/bin/sh\nresources: a: 4\n"));
  CHECK_FALSE(is_script("e", "#!/usr/bin/env -S train launch\nresources: a: 4\n"));
  CHECK_FALSE(is_script("e", "#!/opt/train/bin/train launch\nslot_per_trial: 4\n"));
  CHECK_FALSE(is_script("e.sh", "entrypoint: x\nslot_per_trial: 4\n"));
  CHECK_FALSE(is_script("e.yaml", "- a\n"));
  CHECK_FALSE(is_script("hosts", "node01 slots=4\n"));
}

TEST_CASE("an experiment may be a script that train itself runs") {
  CHECK(said_of("e", "#!/usr/bin/env -S train launch\nentrypoint: x\n") == "accepted");
  CHECK(said_of("e", "#!/bin/sh\nentrypoint: x\n") == "accepted");
}

TEST_CASE("text without keys may be a program in any language") {
  CHECK(said_of("run", "print 1\n") ==
        "an experiment is a mapping of keys, not the string 'print 1'; write 'key: value' lines, "
        "such as 'entrypoint: python3 train.py'; a program is run by: train launch -- ./run");
  CHECK(said_of("e.yaml", "- a\n").find("is run by") == std::string::npos);
}
