// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/python_facts.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "backends/posix/short_run.hpp"
#include "config_schema/text/line_words.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr milliseconds python_limit{10'000};

// Prints lines like "version 3.11.2", "package torch 2.4.0", "torch_cuda 12.1". Does not import
// torch, which takes seconds and may make a context on a GPU: the version is in the name of the
// folder with its distribution's metadata (PEP 376), and its CUDA version is in torch/version.py,
// which has no imports. Does not read the metadata of all installed packages, which takes several
// times as long. Lists only packages whose versions matter between ranks.
constexpr const char* inquiry = R"(
import os, sys
print("version", "%d.%d.%d" % sys.version_info[:3])
known = {"torch", "torchvision", "jax", "jaxlib", "tensorflow", "numpy", "deepspeed", "lightning",
         "pytorch-lightning", "accelerate", "transformers", "horovod", "triton", "flash-attn"}
seen = {}
module = None
for folder in sys.path:
    try:
        names = os.listdir(folder or ".")
    except OSError:
        continue
    for name in names:
        if name == "torch" and module is None:
            module = os.path.join(folder, name, "version.py")
        if not name.endswith((".dist-info", ".egg-info")):
            continue
        words = name.rsplit(".", 1)[0].split("-")
        plain = words[0].lower().replace("_", "-")
        if len(words) > 1 and (plain in known or plain.startswith("nvidia-nccl")):
            seen.setdefault(plain, words[1])
values = {}
if module is not None:
    try:
        with open(module) as file:
            for line in file.read(65536).splitlines():
                name, is_set, value = line.partition("=")
                if is_set:
                    values[name.split(":")[0].strip()] = value.strip().strip("'\"")
    except (OSError, UnicodeDecodeError):
        pass
if values.get("__version__"):
    seen.setdefault("torch", values["__version__"])
for name in sorted(seen):
    print("package", name, seen[name])
if values.get("cuda", "None") != "None":
    print("torch_cuda", values["cuda"])
)";

// Searches the places of NVIDIA's packages (nvidia-nccl-cu12 and similar) and of conda.
constexpr const char* nccl_inquiry = R"(
import os, sys
for folder in [os.path.join(one or ".", "nvidia", "nccl", "lib") for one in sys.path] + [
        os.path.join(sys.prefix, "lib")]:
    name = os.path.abspath(os.path.join(folder, "libnccl.so.2"))
    if os.path.isfile(name):
        print(name)
        break
)";

void read_line(std::string_view line, PythonFacts& facts) {
  const std::string_view what = next_word(line);
  if (what == "version") facts.version = line;
  if (what == "torch_cuda") facts.torch_cuda = line;
  if (what != "package") return;
  const std::string name(next_word(line));
  facts.packages[name] = line;
}

Result<std::string> ask_python(const std::string& program,
                               const std::vector<std::string>& environment, const char* script) {
  return run_shortly(
      {.program = program, .arguments = {program, "-c", script}, .environment = environment},
      python_limit);
}

}  // namespace

bool is_python(const std::string& program) {
  std::string_view name = program;
  name.remove_prefix(name.rfind('/') + 1);
  constexpr std::string_view python = "python";
  return name.starts_with(python) &&
         name.find_first_not_of("0123456789.", python.size()) == name.npos;
}

PythonFacts python_facts(const std::string& program, const std::vector<std::string>& environment) {
  PythonFacts facts;
  facts.program = program;
  const auto said = ask_python(program, environment, inquiry);
  if (!said) {
    facts.trouble = in_one_line(said.error());
    return facts;
  }
  for (const std::string_view line : split(*said, '\n')) read_line(line, facts);
  if (facts.version.empty()) facts.trouble = "it has said nothing";
  return facts;
}

std::string find_nccl(const std::string& program, const std::vector<std::string>& environment) {
  if (is_python(program))
    if (const auto said = ask_python(program, environment, nccl_inquiry); said && !said->empty())
      return std::string(trim(*said));
  return "libnccl.so.2";
}

}  // namespace train
