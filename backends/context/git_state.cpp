// SPDX-License-Identifier: Apache-2.0
#include "backends/context/git_state.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "backends/posix/child.hpp"
#include "backends/posix/short_run.hpp"
#include "backends/process/programs.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

using std::chrono::steady_clock;

bool is_in_repository(const std::string& directory) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(directory, error).lexically_normal();
  while (!error) {
    struct stat status {};
    // `.git` is a file in linked work trees.
    if (::lstat((folder / ".git").c_str(), &status) == 0) return true;
    if (!folder.has_relative_path()) return false;
    folder = folder.parent_path();
  }
  return false;
}

// Without GIT_*, which may name another repository than that of the directory.
std::vector<std::string> environment_of_git() {
  std::vector<std::string> texts = environment_texts();
  std::erase_if(texts, [](const std::string& text) { return text.starts_with("GIT_"); });
  texts.insert(texts.end(), {"GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"});
  return texts;
}

// The output of a git command; nothing when it fails or takes too long. Long output is truncated,
// since only its beginning matters.
std::optional<std::string> ask_git(const std::string& program, const std::string& directory,
                                   const std::vector<std::string>& question,
                                   steady_clock::time_point deadline) {
  std::vector<std::string> words = {"git", "-c", "core.fsmonitor=false", "-C", directory};
  words.insert(words.end(), question.begin(), question.end());
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
  if (left.count() <= 0) return std::nullopt;
  auto said = run_shortly(
      {.program = program, .arguments = std::move(words), .environment = environment_of_git()},
      left);
  if (!said) return std::nullopt;
  return std::move(*said);
}

}  // namespace

GitRecord read_git(const std::string& directory, std::chrono::milliseconds limit) {
  const auto deadline = steady_clock::now() + limit;
  const char* path = std::getenv("PATH");
  if (path == nullptr || !is_in_repository(directory)) return {};
  const auto program = find_program("git", path, directory);
  if (!program) return {};
  GitRecord found;
  const auto commit = ask_git(*program, directory, {"rev-parse", "--verify", "HEAD"}, deadline);
  if (!commit) return {};
  found.commit = std::string(trim(*commit));
  const bool is_hash = found.commit.size() >= 40 && found.commit.size() <= 64 &&
                       found.commit.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash) return {};
  if (const auto changes =
          ask_git(*program, directory, {"status", "--porcelain", "--untracked-files=no"}, deadline))
    found.is_dirty = !changes->empty();
  return found;
}

}  // namespace train
