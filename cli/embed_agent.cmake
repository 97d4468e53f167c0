# SPDX-License-Identifier: Apache-2.0
# Packs the agent's program, and writes the source that puts it into `train`.
#   cmake -D AGENT=program -D PACKED=file.gz -D SOURCE=file.cpp -P embed_agent.cmake
execute_process(COMMAND gzip -9nc "${AGENT}" OUTPUT_FILE "${PACKED}" RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "gzip cannot pack ${AGENT}: ${failed}")
endif()
file(SIZE "${AGENT}" size)
file(SHA256 "${AGENT}" sha256)
# The checksum also tells the compiler's cache that the packed file has changed.
file(WRITE "${SOURCE}" "// Written by embed_agent.cmake.
#include \"cli/embedded_agent.hpp\"

asm(R\"(.pushsection .rodata
.global train_packed_agent
.global train_packed_agent_end
train_packed_agent:
.incbin \"${PACKED}\"
train_packed_agent_end:
.popsection)\");

extern \"C\" const char train_packed_agent[];
extern \"C\" const char train_packed_agent_end[];

train::AgentBinary train::embedded_agent() {
  const auto size = static_cast<std::size_t>(train_packed_agent_end - train_packed_agent);
  return {SharedBytes::constant({train_packed_agent, size}), ${size}, \"${sha256}\"};
}
")
