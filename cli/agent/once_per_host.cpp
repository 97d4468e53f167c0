// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/once_per_host.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string_view>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "cli/surroundings/environment.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "config_schema/text/text.hpp"

extern char** environ;

namespace train {

namespace {

bool is_name(const std::string& name) {
  constexpr std::size_t longest = 64;
  return name.size() <= longest && std::all_of(name.begin(), name.end(), is_plain_byte);
}

// Distinguishes different commands of one script.
std::string digest_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return fmt::format("{:016x}", hash_of(text));
}

Result<int> run(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  // This program ignores SIGXFSZ; the command gets the default action back.
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&child, argv[0], nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return fail(ErrorClass::missing,
                fmt::format("cannot execute '{}': {}", words.front(), system_reason(error)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return fail(ErrorClass::host,
                  fmt::format("cannot wait for '{}': {}", words.front(), system_reason(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The file through which the ranks of a host share the state of the command: which rank runs it,
/// then its exit code. Only the holder of the file lock may write; the lock of a killed rank is
/// released.
class OnceFile {
 public:
  static Result<OnceFile> open(const std::string& path) {
    OnceFile file(path);
    if (!file.file_) return file.failure("open");
    struct flock lock {};
    lock.l_type = F_WRLCK;
    while (::fcntl(file.file_.get(), F_OFD_SETLKW, &lock) != 0)
      if (errno != EINTR) return file.failure("lock");
    return file;
  }

  Result<void> write(const std::string& text) {
    const ssize_t count = ::pwrite(file_.get(), text.data(), text.size(), 0);
    if (count == static_cast<ssize_t>(text.size())) return {};
    if (count >= 0) errno = ENOSPC;
    return failure("write");
  }
  std::string read() const {
    std::array<char, 64> bytes;
    const ssize_t count = ::pread(file_.get(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

 private:
  explicit OnceFile(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {}

  tl::unexpected<Error> failure(const char* doing) const {
    return fail(ErrorClass::host,
                fmt::format("cannot {} '{}': {}", doing, path_, system_reason(errno)));
  }

  std::string path_;
  Descriptor file_;
};

// The rank that runs the command, and its exit code once that is known. The text has a fixed
// length, so that on a full disk already the first write fails, not only the last.
std::string text_of(const std::string& rank, const std::string& code) {
  return fmt::format("{:<12}{:<4}", rank.empty() ? "?" : rank, code);
}

Error killed_while_it_ran(const std::string& rank, const std::string& command) {
  return make_error(ErrorClass::host,
                    fmt::format("{} was killed while it ran '{}' for all ranks of this host",
                                rank == "?" ? "another rank" : "rank " + rank, command));
}

// For the report of the failure: what a rank writes there is part of its cause.
void report_failed_setup(const std::string& name, int code) {
  const std::string text = fmt::format("'{}' of the {} has failed: exit code {}", name,
                                       name == "setup" ? "experiment" : "context", code);
  std::fprintf(stderr, "train: %s\n", text.c_str());
  const std::string path = variable("TORCHELASTIC_ERROR_FILE");
  if (path.empty()) return;
  // Without the file the line above remains.
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file) (void)write_whole(file.get(), fmt::format("{{\"message\": \"{}\"}}\n", text));
}

// The rank that ran `setup` is to be the first that fails: then the others are stopped by the
// launcher. This rank ends by itself only if no stop comes.
void await_stop() {
  constexpr unsigned longest = 60;  // seconds
  ::sleep(longest);
}

Result<int> run_in(const std::string& directory, const OnceCommand& command) {
  const std::string path =
      fmt::format("{}/once-{}-{}", directory, variable("TRAIN_RESTART_COUNT"),
                  command.name.empty() ? digest_of(command.words) : command.name);
  // A nested call with the same name would wait for itself.
  constexpr const char* inside = "TRAIN_ONCE_PER_HOST";
  if (variable(inside) == path)
    return fail(ErrorClass::usage, "once-per-host: it is called by the command that it runs",
                "give the inner one another --name");
  auto file = OnceFile::open(path);
  if (!file) return tl::make_unexpected(std::move(file.error()));
  const std::string known = file->read();
  if (!known.empty()) {
    const std::size_t blank = std::min(known.find(' '), known.size());
    if (const auto code = whole_number(trim(std::string_view(known).substr(blank)), 0, INT_MAX)) {
      if (command.is_setup && *code != 0) await_stop();
      return *code;
    }
    return tl::make_unexpected(killed_while_it_ran(known.substr(0, blank), command.words.front()));
  }
  const std::string rank = variable("RANK");
  if (auto begun = file->write(text_of(rank, "")); !begun)
    return tl::make_unexpected(std::move(begun.error()));
  ::setenv(inside, path.c_str(), 1);
  auto code = run(command.words);
  const int told = code ? *code : exit_code_of(code.error().error_class).value();
  if (auto ended = file->write(text_of(rank, std::to_string(told))); !ended)
    return tl::make_unexpected(std::move(ended.error()));
  if (command.is_setup && told != 0) report_failed_setup(command.name, told);
  return code;
}

}  // namespace

Result<int> run_once_per_host(const OnceCommand& command) {
  if (command.words.empty() || command.words.front().empty())
    return fail(ErrorClass::usage, "once-per-host: no command",
                "write it behind --, as in 'train once-per-host -- ./download.sh'");
  if (!is_name(command.name))
    return fail(ErrorClass::usage, fmt::format("--name: '{}' is no name", command.name),
                "use at most 64 letters, digits and the marks . _ -");
  const std::string directory = variable("TRAIN_RUN_DIR");
  return directory.empty() ? run(command.words) : run_in(directory, command);
}

Result<int> run_once_per_host(const std::vector<std::string>& arguments) {
  OnceCommand command;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  for (auto word = arguments.begin(); word != dashes; ++word) {
    constexpr std::string_view option = "--name";
    if (*word == "--is-setup")
      command.is_setup = true;
    else if (*word == option && word + 1 != dashes)
      command.name = *++word;
    else if (word->starts_with(std::string(option) + '='))
      command.name = word->substr(option.size() + 1);
    else
      return fail(ErrorClass::usage, fmt::format("once-per-host: '{}' is not known here", *word),
                  "write the command behind --");
  }
  if (dashes != arguments.end()) command.words.assign(dashes + 1, arguments.end());
  return run_once_per_host(command);
}

}  // namespace train
