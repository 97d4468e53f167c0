// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/python_facts.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"

using namespace train;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/train-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(path) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string path;
};

}  // namespace

TEST_CASE("a Python is known by its name") {
  for (const char* name : {"/usr/bin/python3", "/opt/python", "/x/python3.11"})
    CHECK(is_python(name));
  for (const char* name : {"/usr/bin/python3-config", "/usr/bin/perl", "/usr/bin/ipython"})
    CHECK_FALSE(is_python(name));
}

TEST_CASE("Python says its version, and its packages without importing them") {
  Folder folder;
  // Importing it would be heard of.
  folder.write("torch/__init__.py", "raise SystemExit('imported')\n");
  folder.write("torch/version.py", "__version__ = '2.4.0+cu121'\ncuda: 'Optional[str]' = '12.1'\n");
  folder.write("torch-2.4.0.dist-info/METADATA",
               "Metadata-Version: 2.1\nName: torch\nVersion: 2.4.0\n");
  folder.write("nvidia_nccl_cu12-2.20.5.dist-info/METADATA",
               "Metadata-Version: 2.1\nName: nvidia_nccl_cu12\nVersion: 2.20.5\n");
  folder.write("unknown-1.dist-info/METADATA",
               "Metadata-Version: 2.1\nName: unknown\nVersion: 1\n");
  const PythonFacts facts = python_facts("/usr/bin/python3", {"PYTHONPATH=" + folder.path});
  CHECK(facts.trouble.empty());
  CHECK(facts.version.starts_with("3."));
  CHECK(facts.packages.at("torch") == "2.4.0");
  CHECK(facts.packages.at("nvidia-nccl-cu12") == "2.20.5");
  CHECK_FALSE(facts.packages.contains("unknown"));
  CHECK(facts.torch_cuda == "12.1");
}

TEST_CASE("a torch without metadata is known by its own module, and may be built without CUDA") {
  Folder folder;
  folder.write("torch/version.py", "__version__ = '9.9.9'\ncuda = None\n");
  const PythonFacts facts =
      python_facts("/usr/bin/python3", {"PYTHONPATH=" + folder.path, "PYTHONNOUSERSITE=1"});
  CHECK(facts.trouble.empty());
  CHECK(facts.torch_cuda.empty());
  CHECK(facts.packages.contains("torch"));
}

TEST_CASE("what is no Python, or fails, is a trouble in words") {
  CHECK(python_facts("/bin/true", {}).trouble == "it has said nothing");
  CHECK(python_facts("/bin/false", {}).trouble == "it ended with code 1");
  CHECK(python_facts("/nowhere/python3", {}).trouble != "");
}
