// SPDX-License-Identifier: Apache-2.0
#include "backends/context/git_state.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "backends/posix/connected_process.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
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
    // A file in the work trees that git adds.
    if (::lstat((folder / ".git").c_str(), &status) == 0) return true;
    if (!folder.has_relative_path()) return false;
    folder = folder.parent_path();
  }
  return false;
}

// Of the directory, whatever repository the variables of this process name.
std::vector<std::string> environment_of_git() {
  std::vector<std::string> texts = environment_texts();
  std::erase_if(texts, [](const std::string& text) { return text.starts_with("GIT_"); });
  texts.insert(texts.end(), {"GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"});
  return texts;
}

// Until it has closed its output; false when that has not happened by the deadline.
bool read_output(const ConnectedProcess& git, steady_clock::time_point deadline,
                 std::string& output) {
  constexpr std::size_t most = 64u << 10;  // of which only the beginning is of interest
  char buffer[4096];
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waited[2] = {{git.stream.get(), POLLIN, 0}, {git.errors.get(), POLLIN, 0}};
    if (::poll(waited, 2, static_cast<int>(left.count())) <= 0) continue;
    // What it says to people is let go, so that it does not wait.
    if ((waited[1].revents & POLLIN) != 0) (void)read_some(git.errors.get(), buffer, sizeof buffer);
    if (waited[0].revents == 0) {
      // Its errors are closed first.
      if ((waited[1].revents & POLLIN) == 0)
        (void)::poll(waited, 1, static_cast<int>(left.count()));
      continue;
    }
    const ssize_t count = read_some(git.stream.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return count == 0;
    if (output.size() < most) output.append(buffer, static_cast<std::size_t>(count));
  }
}

// What a git command prints; nothing when it fails, or takes too long.
std::optional<std::string> ask_git(const std::string& program, const std::string& directory,
                                   const std::vector<std::string>& question,
                                   steady_clock::time_point deadline) {
  std::vector<std::string> words = {"git", "-c", "core.fsmonitor=false", "-C", directory};
  words.insert(words.end(), question.begin(), question.end());
  auto git = start_connected({program, words, environment_of_git(), OnParentEnd::die, {}});
  if (!git) return std::nullopt;
  ::shutdown(git->stream.get(), SHUT_WR);
  std::string output;
  if (!read_output(*git, deadline, output)) (void)send_signal(git->pidfd, SIGKILL);
  // One that waits for a dead network file system stays until this process ends.
  constexpr int patience_milliseconds = 100;
  if (!has_ended(git->pidfd, patience_milliseconds)) return std::nullopt;
  if (wait_for_child(git->pid).code != 0) return std::nullopt;
  return output;
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
