// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/python_facts.hpp"

#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace train;

namespace {

// A folder with modules and metadata of packages.
struct Packages {
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = folder.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string variable() const { return "PYTHONPATH=" + folder.path().string(); }

  train::testing::TemporaryFolder folder;
};

}  // namespace

TEST_CASE("a Python is known by its name") {
  for (const char* name : {"/usr/bin/python3", "/opt/python", "/x/python3.11"})
    CHECK(is_python(name));
  for (const char* name : {"/usr/bin/python3-config", "/usr/bin/perl", "/usr/bin/ipython"})
    CHECK_FALSE(is_python(name));
}

TEST_CASE("Python says its version, and its packages without importing them") {
  Packages packages;
  // Importing it would be heard of.
  packages.write("torch/__init__.py", "raise SystemExit('imported')\n");
  packages.write("torch/version.py",
                 "__version__ = '2.4.0+cu121'\ncuda: 'Optional[str]' = '12.1'\n");
  packages.write("torch-2.4.0.dist-info/METADATA",
                 "Metadata-Version: 2.1\nName: torch\nVersion: 2.4.0\n");
  packages.write("nvidia_nccl_cu12-2.20.5.dist-info/METADATA",
                 "Metadata-Version: 2.1\nName: nvidia_nccl_cu12\nVersion: 2.20.5\n");
  packages.write("unknown-1.dist-info/METADATA",
                 "Metadata-Version: 2.1\nName: unknown\nVersion: 1\n");
  const PythonFacts facts = python_facts("/usr/bin/python3", {packages.variable()});
  CHECK(facts.trouble.empty());
  CHECK(facts.version.starts_with("3."));
  CHECK(facts.packages.at("torch") == "2.4.0");
  CHECK(facts.packages.at("nvidia-nccl-cu12") == "2.20.5");
  CHECK_FALSE(facts.packages.contains("unknown"));
  CHECK(facts.torch_cuda == "12.1");
}

TEST_CASE("a torch without metadata is known by its own module, and may be built without CUDA") {
  Packages packages;
  packages.write("torch/version.py", "__version__ = '9.9.9'\ncuda = None\n");
  const PythonFacts facts =
      python_facts("/usr/bin/python3", {packages.variable(), "PYTHONNOUSERSITE=1"});
  CHECK(facts.trouble.empty());
  CHECK(facts.torch_cuda.empty());
  CHECK(facts.packages.contains("torch"));
}

TEST_CASE("what is no Python, or fails, is a trouble in words") {
  CHECK(python_facts("/bin/true", {}).trouble == "it has said nothing");
  CHECK(python_facts("/bin/false", {}).trouble == "it ended with code 1");
  CHECK(python_facts("/nowhere/python3", {}).trouble != "");
}

TEST_CASE("the NCCL of a Python's packages is the job's own") {
  Packages packages;
  packages.write("nvidia/nccl/lib/libnccl.so.2", "");
  CHECK(find_nccl("/usr/bin/python3", {packages.variable()}) ==
        (packages.folder.path() / "nvidia/nccl/lib/libnccl.so.2").string());
}

TEST_CASE("the NCCL of a program that brings none is the system's") {
  const Packages packages;
  CHECK(find_nccl("/usr/bin/python3", {packages.variable(), "PYTHONNOUSERSITE=1"}) ==
        "libnccl.so.2");
  CHECK(find_nccl("/bin/false", {}) == "libnccl.so.2");
  CHECK(find_nccl("/nowhere/python3", {}) == "libnccl.so.2");
}
