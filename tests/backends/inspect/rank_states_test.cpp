// SPDX-License-Identifier: Apache-2.0
#include "backends/inspect/rank_states.hpp"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/contains.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* python = "/usr/bin/python3";
constexpr const char* waits_for_input = R"(
import sys
def exchange_gradients():
    print("ready", flush=True)
    sys.stdin.read()
exchange_gradients()
)";

bool is_python_there() { return ::access(python, X_OK) == 0; }

/// The folders that Python has on a host: our module in the one, its files in the other.
struct Folders {
  TemporaryDirectory modules;
  TemporaryDirectory stacks;

  Folders() {
    std::filesystem::copy_file(TRAIN_SOURCE_DIR "/launcher/rendezvous/hang_stacks.py",
                               modules.path() + "/sitecustomize.py");
  }
  std::vector<std::string> environment(const std::string& more_modules = "") const {
    return {"PATH=/usr/bin:/bin", "PYTHONPATH=" + modules.path() + more_modules,
            "TRAIN_HANG_STACKS=" + stacks.path()};
  }
};

std::vector<std::string> shell_command(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

RankState state_of(int pid, const std::string& stacks_directory = "",
                   milliseconds limit = patience(10s)) {
  const auto states = rank_states({{3, pid}}, stacks_directory, limit);
  REQUIRE(states.size() == 1);
  REQUIRE(states.front().rank == 3);
  return states.front();
}

/// Looks until the state is so; what was seen last.
RankState state_when(int pid, const std::function<bool(const RankState&)>& condition) {
  RankState seen;
  CHECK(eventually([&] { return condition(seen = state_of(pid)); }));
  return seen;
}

bool sleeps(const RankState& state) { return state.command == "sleep" && state.state == "S"; }

bool lives(int pid) {
  return stays([pid] { return is_running(pid); });
}

}  // namespace

TEST_CASE("a process that sleeps is described") {
  const PipedProgram program(shell_command("exec sleep 1000"), {"PATH=/usr/bin:/bin"});
  const RankState state = state_when(program.pid(), sleeps);
  CHECK(state.pid == program.pid());
  CHECK(state.threads == 1);
  CHECK(state.python.empty());
  // Where the kernel tells.
  if (!state.waits_in.empty()) CHECK(contains(state.waits_in, "nanosleep"));
  if (state.kernel_stack.empty()) return;
  CHECK(contains(state.kernel_stack, "nanosleep"));
  CHECK(state.kernel_stack.find_first_of("[+/<") == std::string::npos);
  CHECK(state.kernel_stack.size() <= longest_kernel_stack);
}

TEST_CASE("a process that was stopped is described as that") {
  const PipedProgram program(shell_command("exec sleep 1000"), {"PATH=/usr/bin:/bin"});
  (void)state_when(program.pid(), sleeps);
  REQUIRE(::kill(program.pid(), SIGSTOP) == 0);
  const RankState state =
      state_when(program.pid(), [](const RankState& seen) { return seen.state == "T"; });
  CHECK(state.pid == program.pid());
  CHECK(state.command == "sleep");
}

TEST_CASE("of a process that waits for a child the child is described") {
  const PipedProgram program(shell_command("sh -c 'cat; :'; :"), {"PATH=/usr/bin:/bin"});
  const RankState state = state_when(program.pid(), [](const RankState& seen) {
    return seen.command == "cat" && seen.state == "S";
  });
  REQUIRE(state.pid > 0);
  CHECK(state.pid != program.pid());
  CHECK(parent_of(parent_of(static_cast<int>(state.pid)).value_or(0)) == program.pid());
}

TEST_CASE("a process that is gone has no pid, and the others are described") {
  const PipedProgram program(shell_command("exec sleep 1000"), {"PATH=/usr/bin:/bin"});
  (void)state_when(program.pid(), sleeps);
  const TemporaryDirectory stacks;
  const auto states =
      rank_states({{0, 1'000'000'000}, {1, program.pid()}, {2, 1'000'000'001}}, stacks.path(), 1s);
  REQUIRE(states.size() == 3);
  CHECK(states[0] == RankState{});
  CHECK(states[1].rank == 1);
  CHECK(states[1].pid == program.pid());
  CHECK(states[2].rank == 2);
  CHECK(states[2].pid == 0);
}

TEST_CASE("Python tells in which function it waits, at each look, and goes on") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  const std::string link = folders.modules.path() + "/link";
  std::filesystem::create_directory_symlink(folders.stacks.path(), link);
  PipedProgram first({python, "-c", waits_for_input}, folders.environment());
  PipedProgram second({python, "-c", waits_for_input}, folders.environment());
  REQUIRE(read_line(first.output()) == "ready");
  REQUIRE(read_line(second.output()) == "ready");
  for (int look = 0; look < 2; ++look) {
    const auto states = rank_states({{0, first.pid()}, {1, second.pid()}}, link, patience(10s));
    REQUIRE(states.size() == 2);
    for (const RankState& state : states) {
      CHECK(contains(state.python, "in exchange_gradients"));
      CHECK(state.python.starts_with("Current thread "));
      CHECK(state.python.find("Current thread ", 1) == std::string::npos);  // of this look only
    }
  }
  CHECK(state_of(first.pid()).python.empty());
  for (PipedProgram* program : {&first, &second}) {
    program->close_input();
    CHECK(program->wait() == 0);
  }
}

TEST_CASE("of many threads of Python the one that took the signal comes first, the rest is cut") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  const PipedProgram program({python, "-c", R"(
import sys, threading
ready = threading.Barrier(41)
def load_batch(depth):
    if depth: load_batch(depth - 1)
    else:
        ready.wait()
        threading.Event().wait()
for each in range(40): threading.Thread(target=load_batch, args=(30,), daemon=True).start()
def exchange_gradients():
    print("ready", flush=True)
    sys.stdin.read()
ready.wait()
exchange_gradients()
)"},
                             folders.environment());
  REQUIRE(read_line(program.output()) == "ready");
  const RankState state = state_of(program.pid(), folders.stacks.path());
  CHECK(state.threads == 41);
  CHECK(state.python.size() <= longest_python_stack);
  CHECK(state.python.size() > longest_python_stack / 2);
  CHECK(state.python.starts_with("Current thread "));
  CHECK(state.python.find("in exchange_gradients") < 200);
  CHECK(contains(state.python, "in load_batch"));
  CHECK(state.python.back() == '\n');
}

TEST_CASE("a process that Python has forked tells its stacks in the file of its parent") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  const PipedProgram program({python, "-c", R"(
import os, sys
def work_in_child():
    print("ready", flush=True)
    sys.stdin.read()
pid = os.fork()
if pid == 0: work_in_child()
else: os.waitpid(pid, 0)
)"},
                             folders.environment());
  REQUIRE(read_line(program.output()) == "ready");
  (void)state_when(program.pid(), [&](const RankState& seen) { return seen.pid != program.pid(); });
  const RankState state = state_of(program.pid(), folders.stacks.path());
  CHECK(state.pid != program.pid());
  CHECK(contains(state.python, "in work_in_child"));
}

TEST_CASE("a Python that was stopped is not asked") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  PipedProgram program({python, "-c", waits_for_input}, folders.environment());
  REQUIRE(read_line(program.output()) == "ready");
  REQUIRE(::kill(program.pid(), SIGSTOP) == 0);
  (void)state_when(program.pid(), [](const RankState& seen) { return seen.state == "T"; });
  CHECK(state_of(program.pid(), folders.stacks.path()).python.empty());
  REQUIRE(::kill(program.pid(), SIGCONT) == 0);
  program.close_input();
  CHECK(program.wait() == 0);
  for (const auto& file : std::filesystem::directory_iterator(folders.stacks.path()))
    CHECK(file.file_size() == 0);
}

TEST_CASE("a Python that does not catch the signal is not signalled") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  SECTION("it has no file") {
    const PipedProgram program({python, "-S", "-c", waits_for_input}, folders.environment());
    REQUIRE(read_line(program.output()) == "ready");
    CHECK(state_of(program.pid(), folders.stacks.path()).python.empty());
    CHECK(lives(program.pid()));
  }
  SECTION("it has given the signal its default again") {
    const std::string script = "import faulthandler\nfaulthandler.unregister(61)\n";
    const PipedProgram program({python, "-c", script + waits_for_input}, folders.environment());
    REQUIRE(read_line(program.output()) == "ready");
    CHECK(state_of(program.pid(), folders.stacks.path()).python.empty());
    CHECK(lives(program.pid()));
  }
}

TEST_CASE("a program that has such a file but is no Python is not signalled") {
  const TemporaryDirectory stacks;
  const PipedProgram program(
      shell_command("exec 7>>" + stacks.path() + "/stacks.$$.7; exec sleep 1000"),
      {"PATH=/usr/bin:/bin"});
  (void)state_when(program.pid(), sleeps);
  REQUIRE(
      std::filesystem::exists(stacks.path() + "/stacks." + std::to_string(program.pid()) + ".7"));
  CHECK(state_of(program.pid(), stacks.path()).python.empty());
  CHECK(lives(program.pid()));
}

TEST_CASE("a program that catches the signal but has another file open is not signalled") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  // As one that closes all its descriptors and opens others.
  const PipedProgram program({python, "-c", std::string(R"(
import os, signal
signal.signal(61, lambda *_: os._exit(9))
for name in os.listdir(os.environ["TRAIN_HANG_STACKS"]):
    os.dup2(os.open("/dev/null", os.O_WRONLY), int(name.split(".")[2]))
)") + waits_for_input},
                             folders.environment());
  REQUIRE(read_line(program.output()) == "ready");
  CHECK(state_of(program.pid(), folders.stacks.path()).python.empty());
  CHECK(lives(program.pid()));
}

namespace {

/// What Python prints and how it ends, with the module before this site's own.
struct Run {
  std::string output;
  int code = 0;
};
Run run(const Folders& folders, const std::string& program, const std::string& more_modules = "") {
  PipedProgram process({python, "-c", program}, folders.environment(more_modules));
  Run run;
  run.output = read_all(process.output());
  run.code = process.wait();
  return run;
}

}  // namespace

TEST_CASE("the site's own sitecustomize runs, once, and is the module of that name") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  const TemporaryDirectory site;
  const std::string path = site.write("sitecustomize.py", "print('ran', __name__)\nmark = 5\n");
  const Run result = run(folders, R"(
import sitecustomize, sys
print(sitecustomize.__file__, sitecustomize.mark, sorted(set(vars(sitecustomize)) - {"mark"})[-1])
print(sys.path[1], sys.path[2])
)",
                         ":" + site.path());
  CHECK(result.output == "ran sitecustomize\n" + path + " 5 __spec__\n" + folders.modules.path() +
                             " " + site.path() + "\n");
  CHECK(result.code == 0);
  CHECK(names_in(FolderReader(folders.stacks.path())).empty());  // it goes with the process
}

TEST_CASE("an error in the site's own sitecustomize is seen as without the module") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  const TemporaryDirectory site;
  (void)site.write("sitecustomize.py",
                   "import sys\nsys.stderr = sys.stdout\nraise ValueError(7)\n");
  const Run result =
      run(folders, "import sys\nprint('sitecustomize' in sys.modules)", ":" + site.path());
  CHECK(result.output ==
        "Error in sitecustomize; set PYTHONVERBOSE for traceback:\nValueError: 7\nFalse\n");
  CHECK(result.code == 0);
}

TEST_CASE("without another sitecustomize there is no module of that name") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  // Debian has one of its own, which is not to be found here.
  const Run result = run(folders, R"(
import sys
sys.path[:] = [sys.path[1]]
sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize
except ImportError as error:
    print(type(error).__name__, error.name, "sitecustomize" in sys.modules, len(sys.path))
)");
  CHECK(result.output == "ModuleNotFoundError sitecustomize False 1\n");
  CHECK(result.code == 0);
}

TEST_CASE("where no file can be made, Python runs as without the module") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  for (const char* directory : {"TRAIN_HANG_STACKS=/nonexistent", "TRAIN_HANG_STACKS=", "X="}) {
    INFO(directory);
    PipedProgram process({python, "-c", "print('done')"},
                         {"PYTHONPATH=" + folders.modules.path(), directory});
    CHECK(read_all(process.output()) == "done\n");
    CHECK(process.wait() == 0);
  }
  CHECK(names_in(FolderReader(folders.stacks.path())).empty());
}

TEST_CASE("the file is high among the descriptors, or where few may be open, among these") {
  if (!is_python_there()) SKIP_CASE("there is no Python");
  const Folders folders;
  for (const bool is_limited : {false, true}) {
    INFO(is_limited);
    const std::string limit = is_limited ? "ulimit -n 64; " : "";
    const PipedProgram program(
        {"/bin/sh", "-c", limit + "exec " + python + " -c \"$0\"", waits_for_input},
        folders.environment());
    REQUIRE(read_line(program.output()) == "ready");
    CHECK(contains(state_of(program.pid(), folders.stacks.path()).python, "in exchange_gradients"));
    const std::string high =
        folders.stacks.path() + "/stacks." + std::to_string(program.pid()) + ".200";
    CHECK(std::filesystem::exists(high) == !is_limited);
  }
}
