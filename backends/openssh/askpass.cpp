// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/askpass.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "backends/posix/proc.hpp"

namespace train {

namespace {

// An interpreter, its option and the script.
constexpr int most_words = 3;
// A login has a few processes; a ProxyCommand may start any number.
constexpr std::size_t most_processes = 256;

bool runs(int pid, std::string_view program) {
  const std::string words = words_of(pid);
  std::string_view rest = words;
  for (int i = 0; i < most_words && !rest.empty(); ++i) {
    const std::string_view word = rest.substr(0, rest.find('\0'));
    if (word == program) return true;
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return false;
}

}  // namespace

bool is_run_below(int pid, const std::string& program) {
  if (program.empty()) return false;
  std::vector<int> below = children_of(pid);
  for (std::size_t i = 0; i < below.size() && i < most_processes; ++i) {
    if (runs(below[i], program)) return true;
    const auto next = children_of(below[i]);
    below.insert(below.end(), next.begin(), next.end());
  }
  return false;
}

}  // namespace train
