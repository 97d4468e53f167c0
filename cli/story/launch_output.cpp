// SPDX-License-Identifier: Apache-2.0
#include "cli/story/launch_output.hpp"

#include <chrono>
#include <utility>

namespace train {

std::uint64_t LaunchOutput::take(OutputChunk chunk, nanoseconds age) {
  using std::chrono::microseconds;
  const auto printed = std::chrono::floor<microseconds>(time_.now() - age);
  if (chunk.stream != OutputStream::metrics) shown_.add(chunk, printed.count());
  return logs_.write(
      {chunk.rank, chunk.stream, printed.count(), std::move(chunk.bytes), chunk.dropped, chunk.of});
}

void LaunchOutput::end_trial(int trial) {
  shown_.end_trial(trial);
  logs_.end_trial(trial);
}

}  // namespace train
