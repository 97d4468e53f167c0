// SPDX-License-Identifier: Apache-2.0
#include "backends/process/spawner.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/process/programs.hpp"

namespace train {

namespace {

// Enough for a rank to print while the agent is busy. The kernel allows a user 64 MiB in all pipes
// of a host; beyond that every new pipe, of any program, shrinks to 8 KiB.
constexpr int pipe_capacity = 256 << 10;

Result<Pipe> make_output_pipe() {
  auto pipe = make_pipe();
  if (!pipe) return pipe;
  if (::fcntl(pipe->read_end.get(), F_SETFL, O_NONBLOCK) != 0)
    return fail(ErrorClass::host, "cannot prepare a pipe: " + system_reason(errno));
  // Best effort: the default of 64 KiB is sufficient.
  (void)::fcntl(pipe->write_end.get(), F_SETPIPE_SZ, pipe_capacity);
  return pipe;
}

// The hint for an errno that means the same in all steps of a start.
std::string hint_of(int error) {
  switch (error) {
    case EAGAIN:
      return "a limit of processes is reached: the user's (ulimit -u), or that of its control "
             "group "
             "(pids.max)";
    case ENOMEM:
      return "this host is out of memory";
    case EMFILE:
      return "the limit of open files is reached (ulimit -n)";
    case ENFILE:
      return "this host's limit of open files is reached (sysctl fs.file-max)";
    case ETXTBSY:
      return "somebody is writing this file: try again when it is whole";
    case EIO:
    case ESTALE:
    case ENOTCONN:
    case ETIMEDOUT:
      return "look at the file system that it is on";
    default:
      return {};
  }
}

tl::unexpected<Error> explain_chdir(const ProcessSpec& spec, int error, FileCalls* calls) {
  const ErrorClass error_class = class_of_file_error(error);
  if (error_class == ErrorClass::missing)
    if (auto found = check_working_directory(spec.working_directory, calls); !found)
      return tl::make_unexpected(found.error());
  return fail(error_class,
              fmt::format("cannot enter working directory '{}' (chdir): {}", spec.working_directory,
                          system_reason(error)),
              hint_of(error));
}

// Explains why exec refuses a program that exists and is executable.
tl::unexpected<Error> explain_format(const ProcessSpec& spec, int error, FileCalls* calls) {
  const auto cannot = [&](const std::string& why, const std::string& hint) {
    return fail(ErrorClass::missing,
                fmt::format("cannot execute '{}' (exec): {}", spec.program, why), hint);
  };
  if (error == ENOEXEC)
    return cannot("it is neither a program for this kind of machine nor a script",
                  "a script starts with a line that names its interpreter: #!/bin/sh");
  if (error != ENOENT) return cannot(system_reason(error), {});
  if (const auto interpreter = interpreter_of(spec.program, calls))
    return cannot(fmt::format("its interpreter '{}' is missing", *interpreter),
                  "name the interpreter by its absolute path in the script's first line");
  return cannot("its program loader is missing",
                "it was built for another system (another C library or architecture)");
}

tl::unexpected<Error> explain_exec(const ProcessSpec& spec, int error, FileCalls* calls) {
  if (error == E2BIG)
    return fail(ErrorClass::config,
                fmt::format("cannot execute '{}' (exec): {}", spec.program, system_reason(error)),
                "arguments and environment together exceed what this host's kernel accepts, "
                "or one of them is above 128 KiB");
  if (class_of_file_error(error) == ErrorClass::host)
    return fail(ErrorClass::host,
                fmt::format("cannot execute '{}' (exec): {}", spec.program, system_reason(error)),
                hint_of(error));
  if (auto found = check_program(spec.program, calls); !found)
    return tl::make_unexpected(found.error());
  return explain_format(spec, error, calls);
}

tl::unexpected<Error> explain(const ProcessSpec& spec, const StartedChild& child,
                              FileCalls* calls) {
  if (child.failed == ChildStep::chdir) return explain_chdir(spec, child.error, calls);
  if (child.failed == ChildStep::exec) return explain_exec(spec, child.error, calls);
  if (child.failed == ChildStep::affinity)
    return fail(ErrorClass::host,
                fmt::format("cannot bind '{}' to its CPUs (sched_setaffinity): {}", spec.program,
                            system_reason(child.error)),
                "they may have gone offline since this host was checked: launch again, or leave "
                "out 'cpu_binding'");
  if (child.failed == ChildStep::pidfd)
    return fail(ErrorClass::host, "the kernel of this host has no process descriptors",
                "Linux 5.3 or later is needed, or a free descriptor (ulimit -n)");
  return fail(ErrorClass::host,
              fmt::format("cannot start '{}' ({}): {}", spec.program, to_string(child.failed),
                          system_reason(child.error)),
              hint_of(child.error));
}

}  // namespace

Result<ChildAnswer> start_as_child(const ChildRequest& request) {
  auto null = open_null();
  if (!null) return tl::make_unexpected(null.error());
  const ProcessSpec& spec = request.spec;
  ChildSetup setup(spec.program, spec.argv, spec.environment, spec.working_directory);
  setup.standard[0] = null->get();
  setup.standard[1] = request.output;
  setup.standard[2] = request.errors;
  setup.open_files = request.open_files;
  setup.cgroup = request.cgroup;
  setup.joins_cgroup = request.joins_cgroup;
  setup.cpus = cpu_mask(spec.cpus);
  ChildAnswer answer{start_child(setup)};
  answer.there_at = boot_time();
  return answer;
}

Result<SpawnedProcess> LinuxSpawner::spawn(const ProcessSpec& spec) {
  auto output = make_output_pipe();
  if (!output) return tl::make_unexpected(output.error());
  auto errors = make_output_pipe();
  if (!errors) return tl::make_unexpected(errors.error());
  const ChildRequest request{spec,
                             output->write_end.get(),
                             errors->write_end.get(),
                             open_files_ ? &*open_files_ : nullptr,
                             cgroup_,
                             joins_cgroup_};
  auto answer = noted(calls_, "start", spec.program, [&] { return start_(request); });
  if (!answer) return tl::make_unexpected(answer.error());
  StartedChild& child = answer->child;
  joins_cgroup_ = child.has_joined_cgroup;
  if (child.failed != ChildStep::none) return explain(spec, child, calls_);
  return SpawnedProcess{child.pid, child.pidfd.release(), output->read_end.release(),
                        errors->read_end.release(), answer->there_at};
}

}  // namespace train
