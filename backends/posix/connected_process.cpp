// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/connected_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

namespace train {

namespace {

// How long to wait for the end of a killed process, in milliseconds.
constexpr int kill_patience = 100;

tl::unexpected<Error> cannot(const std::string& what, int error) {
  return fail(
      ErrorClass::host, fmt::format("cannot {}: {}", what, system_reason(error)),
      error == EMFILE || error == ENFILE ? "raise the limit of open files: ulimit -n 4096" : "");
}

struct SocketPair {
  Descriptor ours;
  Descriptor childs;
};

Result<SocketPair> make_stream() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return cannot("make a connection to a program", errno);
  SocketPair pair{Descriptor(ends[0]), Descriptor(ends[1])};
  auto moved = above_standard(std::move(pair.childs));
  if (!moved) return tl::make_unexpected(moved.error());
  pair.childs = std::move(*moved);
  return pair;
}

Result<void> make_non_blocking(const Descriptor& descriptor) {
  if (::fcntl(descriptor.get(), F_SETFL, O_NONBLOCK) == 0) return {};
  return cannot("prepare a connection to a program", errno);
}

tl::unexpected<Error> explain(const ProgramCall& call, const StartedChild& child) {
  if (child.failed == ChildStep::pidfd)
    return fail(ErrorClass::host, "the kernel of this machine has no process descriptors",
                "Linux 5.3 or later is needed, or a free descriptor (ulimit -n)");
  if (child.failed != ChildStep::exec)
    return cannot(fmt::format("start '{}' ({})", call.program, to_string(child.failed)),
                  child.error);
  return fail(ErrorClass::missing,
              fmt::format("cannot execute '{}': {}", call.program, system_reason(child.error)),
              call.next_step);
}

}  // namespace

Result<ConnectedProcess> start_connected(const ProgramCall& call) {
  auto stream = make_stream();
  if (!stream) return tl::make_unexpected(stream.error());
  auto errors = make_pipe();
  if (!errors) return tl::make_unexpected(errors.error());
  for (const Descriptor* own : {&stream->ours, &errors->read_end})
    if (auto made = make_non_blocking(*own); !made) return tl::make_unexpected(made.error());

  const std::string here = ".";
  ChildSetup setup(call.program, call.arguments, call.environment, here);
  setup.standard[0] = setup.standard[1] = stream->childs.get();
  setup.standard[2] = errors->write_end.get();
  setup.program_file = call.program_file;
  setup.on_parent_end = call.on_parent_end;
  StartedChild child = start_child(setup);
  if (child.failed != ChildStep::none) return explain(call, child);
  return ConnectedProcess{child.pid, std::move(child.pidfd), std::move(stream->ours),
                          std::move(errors->read_end)};
}

void end_connected(ConnectedProcess& process) {
  if (process.pid <= 0) return;
  (void)::kill(-process.pid, SIGKILL);
  if (has_ended(process.pidfd, kill_patience)) (void)reap(process.pidfd.get(), Instant{0});
  process.pid = -1;
}

}  // namespace train
