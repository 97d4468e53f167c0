// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/output_window.hpp"

#include <algorithm>

namespace train {

std::size_t output_window(std::size_t hosts) {
  constexpr std::size_t of_all_hosts = 64u << 20;
  return std::clamp(of_all_hosts / std::max<std::size_t>(hosts, 1), least_output_window,
                    most_output_window);
}

bool OutputWindow::take(const OutputChunk& chunk) {
  if (in_flight_ >= size_) return false;
  in_flight_ += cost_of(chunk);
  return true;
}

}  // namespace train
