// SPDX-License-Identifier: Apache-2.0
#include "backends/process/spawner.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "backends/process/child.hpp"
#include "backends/process/descriptor.hpp"
#include "backends/process/programs.hpp"

namespace train {

namespace {

// Enough for a rank to print while the agent is busy. A user may have 64 MiB in the pipes of one
// host; beyond that every new one, of whatever program, shrinks to 8 KiB.
constexpr int pipe_capacity = 256 << 10;

Result<Pipe> make_output_pipe() {
  auto pipe = make_pipe();
  if (!pipe) return pipe;
  if (::fcntl(pipe->read_end.get(), F_SETFL, O_NONBLOCK) != 0)
    return fail(ErrorClass::host, "cannot prepare a pipe: " + system_reason(errno));
  // Best effort: 64 KiB, the default, serve as well.
  (void)::fcntl(pipe->write_end.get(), F_SETPIPE_SZ, pipe_capacity);
  return pipe;
}

bool names_something_missing(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ENOEXEC ||
         error == ELOOP || error == ENAMETOOLONG || error == EPERM;
}

tl::unexpected<Error> explain_chdir(const ProcessSpec& spec, int error) {
  if (auto found = check_working_directory(spec.working_directory); !found)
    return tl::make_unexpected(found.error());
  return fail(names_something_missing(error) ? ErrorClass::missing : ErrorClass::host,
              fmt::format("cannot enter working directory '{}' (chdir): {}", spec.working_directory,
                          system_reason(error)));
}

tl::unexpected<Error> explain_exec(const ProcessSpec& spec, int error) {
  if (error == E2BIG)
    return fail(ErrorClass::config,
                fmt::format("cannot execute '{}' (exec): {}", spec.program, system_reason(error)),
                "arguments and environment together exceed what this host's kernel accepts, "
                "or one of them is above 128 KiB");
  if (!names_something_missing(error))
    return fail(ErrorClass::host,
                fmt::format("cannot execute '{}' (exec): {}", spec.program, system_reason(error)));
  if (auto found = check_program(spec.program); !found) return tl::make_unexpected(found.error());
  if (error == ENOEXEC)
    return fail(ErrorClass::missing,
                fmt::format("cannot execute '{}' (exec): it is neither a program for this kind of "
                            "machine nor a script",
                            spec.program),
                "a script starts with a line that names its interpreter: #!/bin/sh");
  if (const auto interpreter = interpreter_of(spec.program); interpreter && error == ENOENT)
    return fail(ErrorClass::missing,
                fmt::format("cannot execute '{}' (exec): its interpreter '{}' is missing",
                            spec.program, *interpreter),
                "name the interpreter by its absolute path in the script's first line");
  if (error == ENOENT)
    return fail(
        ErrorClass::missing,
        fmt::format("cannot execute '{}' (exec): its program loader is missing", spec.program),
        "it was built for another system (another C library or architecture)");
  return fail(ErrorClass::missing,
              fmt::format("cannot execute '{}' (exec): {}", spec.program, system_reason(error)));
}

tl::unexpected<Error> explain(const ProcessSpec& spec, const StartedChild& child) {
  if (child.failed == ChildStep::chdir) return explain_chdir(spec, child.error);
  if (child.failed == ChildStep::exec) return explain_exec(spec, child.error);
  std::string hint;
  if (child.error == EAGAIN) hint = "the user's limit of processes is reached (ulimit -u)";
  if (child.error == ENOMEM) hint = "this host is out of memory";
  if (child.error == EMFILE || child.error == ENFILE)
    hint = "the limit of open files is reached (ulimit -n)";
  return fail(ErrorClass::host,
              fmt::format("cannot start '{}' ({}): {}", spec.program, to_string(child.failed),
                          system_reason(child.error)),
              hint);
}

// A process that nobody could wait for is not let loose.
tl::unexpected<Error> refuse_without_pidfd(pid_t pid) {
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return fail(ErrorClass::host, "the kernel of this host has no process descriptors",
              "Linux 5.3 or later is needed, or a free descriptor (ulimit -n)");
}

}  // namespace

void LinuxSpawner::start_in(int cgroup) {
  cgroup_ = cgroup;
  joins_cgroup_ = cgroup >= 0 && !can_start_in(cgroup);
}

Result<SpawnedProcess> LinuxSpawner::spawn(const ProcessSpec& spec) {
  auto null = open_null();
  if (!null) return tl::make_unexpected(null.error());
  auto output = make_output_pipe();
  if (!output) return tl::make_unexpected(output.error());
  auto errors = make_output_pipe();
  if (!errors) return tl::make_unexpected(errors.error());

  const std::vector<char*> argv = exec_pointers(spec.argv);
  const std::vector<char*> environment = exec_pointers(spec.environment);
  ChildSetup setup;
  setup.program = spec.program.c_str();
  setup.argv = argv.data();
  setup.environment = environment.data();
  setup.working_directory = spec.working_directory.c_str();
  setup.standard[0] = null->get();
  setup.standard[1] = output->write_end.get();
  setup.standard[2] = errors->write_end.get();
  if (open_files_) setup.open_files = &*open_files_;
  setup.cgroup = cgroup_;
  setup.joins_cgroup = joins_cgroup_;
  const StartedChild child = start_child(setup);
  if (child.failed != ChildStep::none) return explain(spec, child);
  if (child.pidfd < 0) return refuse_without_pidfd(child.pid);
  return SpawnedProcess{child.pid, child.pidfd, output->read_end.release(),
                        errors->read_end.release()};
}

}  // namespace train
