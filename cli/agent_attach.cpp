// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>

#include "backends/context/host_contexts.hpp"
#include "backends/process/agent_process.hpp"
#include "backends/process/attach.hpp"
#include "backends/process/open_files.hpp"
#include "cli/commands.hpp"
#include "cli/user_account.hpp"

namespace train {

namespace {

// The launcher says it, as its own: without our name and verdict.
ExitCode tell_launcher(const Error& error) {
  const std::string text = render(error) + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  return exit_code_of(error.error_class);
}

}  // namespace

ExitCode agent_attach_command(const AgentAttachFlags& flags) {
  if (flags.open_files) set_open_files_limit(*flags.open_files);
  const char* base = std::getenv("TRAIN_HOST_DIRECTORY");  // for tests; see train(1)
  const auto directory = HostDirectory::open(base != nullptr ? base : "");
  if (!directory) return tell_launcher(directory.error());
  const auto ended = attach(*directory, flags.key, [&](int listening_socket) {
    return run_agent_process(listening_socket, *directory, flags.key, [&](Loop& loop) {
      return std::make_unique<HostContexts>(loop, cache_places(home_directory()), flags.key);
    });
  });
  if (!ended) return tell_launcher(ended.error());
  // Nothing of this process is worth a slow ending: the agent runs on by itself.
  ::_exit(*ended);
}

}  // namespace train
