// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/agent_process.hpp"

#include <unistd.h>

#include "backends/agent/agent_driver.hpp"
#include "backends/observe/last_words.hpp"
#include "backends/posix/proc.hpp"

namespace train {

int run_agent_process(int listening_socket, const HostDirectory& directory, const std::string& key,
                      const AgentMeans& means) {
  constexpr int exit_code_of_a_bug = 70;
  const Descriptor listening(listening_socket);
  try {
    (void)children_of(::getpid());  // fills its cache before the first fork
    AgentDriver driver(listening.get(), directory, key, means);
    return driver.run();
  } catch (...) {  // there is no Agent yet that could report it
    report_failure(listening.get(), reason_of_current_exception());
    return exit_code_of_a_bug;
  }
}

}  // namespace train
