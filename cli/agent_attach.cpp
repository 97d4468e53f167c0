// SPDX-License-Identifier: Apache-2.0
#include "cli/agent_attach.hpp"

#include <unistd.h>

#include <cstdlib>

#include "backends/context/host_contexts.hpp"
#include "backends/process/agent_process.hpp"
#include "backends/process/attach.hpp"
#include "backends/process/open_files.hpp"

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
  const char* path = std::getenv("TRAIN_HOST_DIRECTORY");  // for tests; see train(1)
  const bool is_given = path != nullptr && *path != '\0';
  const auto directory = is_given ? HostDirectory::open(path) : HostDirectory::find(flags.key);
  if (!directory) return tell_launcher(directory.error());
  const char* home = std::getenv("HOME");
  const auto ended = attach(*directory, flags.key, [&](int listening_socket) {
    return run_agent_process(listening_socket, *directory, flags.key, [&](Loop& loop) {
      return std::make_unique<HostContexts>(loop, cache_places(home == nullptr ? "" : home),
                                            flags.key);
    });
  });
  if (!ended) return tell_launcher(ended.error());
  // Nothing of this process is worth a slow ending: the agent runs on by itself.
  ::_exit(*ended);
}

}  // namespace train
