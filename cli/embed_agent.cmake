# SPDX-License-Identifier: Apache-2.0
# Packs the agent's program, and writes the source that puts it into `train`.
#   cmake -D AGENT=program -D PACKED=file.gz -D SOURCE=file.cpp -P embed_agent.cmake
execute_process(COMMAND gzip -9nc "${AGENT}" OUTPUT_FILE "${PACKED}" RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "gzip cannot pack ${AGENT}: ${failed}")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/embed_file.cmake")
embed_file(train_packed_agent "${PACKED}")
file(SIZE "${AGENT}" size)
file(SHA256 "${AGENT}" sha256)
file(WRITE "${SOURCE}" "// Written by embed_agent.cmake.
#include \"cli/request/embedded_agent.hpp\"

${embedded}

train::AgentBinary train::embedded_agent() {
  const auto size = static_cast<std::size_t>(train_packed_agent_end - train_packed_agent);
  return {SharedBytes::constant({train_packed_agent, size}), ${size}, \"${sha256}\"};
}
")
