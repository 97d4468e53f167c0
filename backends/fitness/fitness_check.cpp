// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/fitness_check.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "backends/attempt/rank_process.hpp"
#include "backends/context/sha256_digest.hpp"
#include "backends/fitness/data_facts.hpp"
#include "backends/fitness/disk_facts.hpp"
#include "backends/fitness/python_facts.hpp"
#include "backends/fitness/rdma_facts.hpp"
#include "backends/observe/host_room.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/short_run.hpp"
#include "backends/process/programs.hpp"
#include "backends/visits/host_inspection.hpp"
#include "config_schema/experiment/entrypoint.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr milliseconds name_limit{3'000};
// Larger files are not compared between hosts: a program that differs by mistake is smaller.
constexpr std::uint64_t largest_digested = std::uint64_t{256} << 20;

// The SHA-256 of a regular file that can be read; else empty.
std::string digest_of(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > largest_digested)
    return {};
  Sha256Digest digest;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (true) {
    const ssize_t count = read_some(file.get(), buffer.data(), buffer.size());
    if (count < 0) return {};
    if (count == 0) return digest.finish();
    digest.add({buffer.data(), static_cast<std::size_t>(count)});
  }
}

std::int64_t limit_of(__rlimit_resource what, bool is_hard) {
  rlimit limit{};
  if (::getrlimit(what, &limit) != 0) return -1;
  const rlim_t value = is_hard ? limit.rlim_max : limit.rlim_cur;
  return value == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(value);
}

// Uses `getent`: the agent is a static program, and cannot use the system's resolver itself.
void look_up_own_name(HostFitness& fitness) {
  utsname names{};
  if (::uname(&names) != 0) return;
  fitness.name = names.nodename;
  const auto getent = find_program("getent", "/usr/bin:/bin:/usr/sbin", "/");
  if (!getent) return;
  const auto said = run_shortly({.program = *getent,
                                 .arguments = {"getent", "ahosts", fitness.name},
                                 .environment = environment_texts()},
                                name_limit);
  if (!said) {
    // The exit code 2 of getent means "not found"; others are errors of the system.
    fitness.name_trouble = in_one_line(said.error());
    if (fitness.name_trouble.starts_with("it ended with code 2"))
      fitness.name_trouble = "it does not resolve";
    return;
  }
  // Lines like "10.0.0.1  STREAM node01", several for each address.
  for (const std::string_view line : split(*said, '\n')) {
    const std::string address(line.substr(0, line.find(' ')));
    auto& all = fitness.name_addresses;
    if (!address.empty() && std::find(all.begin(), all.end(), address) == all.end())
      all.push_back(address);
  }
}

void look_at_disks(HostFitness& fitness) {
  const char* temporary = std::getenv("TMPDIR");
  const bool is_set = temporary != nullptr && *temporary == '/';
  fitness.disks.push_back(disk_facts("temporary files", is_set ? temporary : "/tmp"));
  fitness.disks.push_back(disk_facts(std::string(shared_memory_use), "/dev/shm"));
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    // Errors are not reported: not every account has a writable home, and train does not need one.
    DiskFacts disk = disk_facts("home", home);
    if (disk.trouble.empty()) fitness.disks.push_back(std::move(disk));
  }
}

// Checks the working directory of a rank, its program, and the script that it runs.
void look_at_rank(const FitnessRequest& request, HostFitness& fitness) {
  RankCommand command = *request.rank;
  // The files of the context are not on the host yet.
  if (request.brings_context) command.working_directory = "/";
  RankProcesses processes;
  const auto add = [&](const Error& error) {
    for (const Diagnostic& problem : error.diagnostics) fitness.problems.push_back(problem);
  };
  const auto script = find_script(command.entrypoint);
  const auto& argv = command.entrypoint.argv;
  const std::string written = !argv.empty() ? argv.front() : script ? script->program : "";
  const bool is_relative = written.find('/') != std::string::npos && !written.starts_with('/');
  if (request.brings_context && is_relative) return;
  const auto spec = processes.process_of(command);
  if (!spec) return add(spec.error());
  fitness.program = spec->program;
  // For a shell line checks the interpreter that it calls, not the shell, which every system has.
  if (argv.empty() && script) {
    auto found = find_program(written, processes.path_of(command), command.working_directory);
    if (!found) return add(found.error());
    fitness.program = std::move(*found);
  }
  fitness.program_sha256 = digest_of(fitness.program);
  // torchrun and similar programs are Python scripts.
  const auto interpreter = interpreter_of(fitness.program);
  if (is_python(fitness.program))
    fitness.python = python_facts(fitness.program, spec->environment);
  else if (interpreter && is_python(*interpreter))
    fitness.python = python_facts(*interpreter, spec->environment);
  if (!script || request.brings_context) return;
  fitness.script = script->path;
  const auto there = processes.check_script_of(
      command,
      "every host of the task needs it there; --context sends a directory of code to them");
  if (!there) return add(there.error());
  fitness.script_sha256 =
      digest_of(script->path.starts_with('/') ? script->path
                                              : command.working_directory + "/" + script->path);
}

void look_at_default_python(HostFitness& fitness) {
  const auto python = find_program("python3", RankProcesses().path_of({}), "/");
  if (python) fitness.python = python_facts(*python, environment_texts());
}

}  // namespace

HostFitness check_fitness(const FitnessRequest& request, const AgentMeans& means) {
  HostFitness fitness;
  look_up_own_name(fitness);
  look_at_disks(fitness);
  fitness.memory_lock = limit_of(RLIMIT_MEMLOCK, false);
  fitness.open_files = limit_of(RLIMIT_NOFILE, true);
  fitness.rdma = rdma_facts();
  if (!request.data_directory.empty()) fitness.data = data_facts(request.data_directory);
  if (request.rank)
    look_at_rank(request, fitness);
  else
    look_at_default_python(fitness);
  for (Diagnostic& lack : shortages(room_limits(std::max(1, request.ranks), 0)))
    fitness.problems.push_back(std::move(lack));
  fitness.host = inspect_host(means, request.lease_directory);
  fitness.wall_ns =
      std::chrono::duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  return fitness;
}

}  // namespace train
