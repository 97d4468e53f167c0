// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace train {

// What a shell offers for the value of an option or for an argument: the name of its first
// validator
// (`names` and `one_of` in cli/commands/flags.hpp). Any other name stands for values that are not
// known.
namespace value_kind {
inline constexpr const char* file = "file";
inline constexpr const char* experiment = "experiment";  ///< a file
inline constexpr const char* directory = "directory";
inline constexpr const char* key = "key";    ///< KEY=VALUE of an experiment
inline constexpr const char* host = "host";  ///< names from the hosts file, with commas between
inline constexpr const char* host_filter = "host filter";  ///< the same in the grammar of --include
inline constexpr const char* task = "task";
inline constexpr const char* unfinished_task = "unfinished task";
inline constexpr const char* ended_task = "ended task";
inline constexpr const char* unknown = "unknown";
}  // namespace value_kind

/// The kind of a value that is one of a few words: "|ssh|openssh".
inline std::string kind_of_words(const std::vector<std::string>& words) {
  std::string kind;
  for (const std::string& word : words) kind += "|" + word;
  return kind;
}

}  // namespace train
