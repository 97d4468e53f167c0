// SPDX-License-Identifier: Apache-2.0
#include "backends/process/programs.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

// How many bytes of a script the kernel reads (BINPRM_BUF_SIZE).
constexpr size_t script_head = 256;

int ask_status(const std::string& path, struct stat& status, FileCalls* calls) {
  return noted(calls, "stat", path, [&] { return ::stat(path.c_str(), &status); });
}

// Checks with the effective ids, as exec and chdir do; respects ACLs and mount options as well.
int ask_access(const std::string& path, FileCalls* calls) {
  return noted(calls, "access", path,
               [&] { return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS); });
}

bool is_mounted_noexec(const std::string& path, FileCalls* calls) {
  struct statvfs filesystem {};
  return noted(calls, "statvfs", path, [&] { return ::statvfs(path.c_str(), &filesystem); }) == 0 &&
         (filesystem.f_flag & ST_NOEXEC) != 0;
}

// Why a path cannot be executed.
struct StartObstacle {
  std::string text;  // the end of a sentence; empty when it can be executed
  ErrorClass error_class = ErrorClass::missing;
  bool is_there = true;

  explicit operator bool() const { return !text.empty(); }
};

StartObstacle obstacle(const std::string& path, FileCalls* calls) {
  struct stat status {};
  if (ask_status(path, status, calls) != 0) {
    const int error = errno;
    const bool is_there = error != ENOENT && error != ENOTDIR;
    return {error == ENOENT ? "no such file" : system_reason(error), class_of_file_error(error),
            is_there};
  }
  if (S_ISDIR(status.st_mode)) return {"it is a directory"};
  if (!S_ISREG(status.st_mode)) return {"it is not a file"};
  if (ask_access(path, calls) == 0) return {};
  const int error = errno;
  if (error != EACCES) return {system_reason(error), class_of_file_error(error)};
  if (is_mounted_noexec(path, calls)) return {"its file system is mounted noexec"};
  return {"permission denied: it is not executable for this user"};
}

std::string absolute(std::string_view path, std::string_view directory) {
  if (path.empty()) return std::string(directory);
  if (path.front() == '/') return std::string(path);
  const bool has_slash = !directory.empty() && directory.back() == '/';
  return fmt::format("{}{}{}", directory, has_slash ? "" : "/", path);
}

Result<std::string> search(std::string_view name, std::string_view path_variable,
                           std::string_view working_directory, FileCalls* calls) {
  std::string first_obstacle;
  ErrorClass error_class = ErrorClass::missing;
  for (size_t begin = 0; begin <= path_variable.size();) {
    const size_t end = std::min(path_variable.find(':', begin), path_variable.size());
    const std::string directory =
        absolute(path_variable.substr(begin, end - begin), working_directory);
    const std::string candidate = absolute(name, directory);
    const StartObstacle trouble = obstacle(candidate, calls);
    if (!trouble) return candidate;
    if (first_obstacle.empty() && trouble.is_there) {
      first_obstacle = trouble.error_class == ErrorClass::missing
                           ? fmt::format("'{}' was found, but {}", candidate, trouble.text)
                           : fmt::format("'{}': {}", candidate, trouble.text);
      error_class = trouble.error_class;
    }
    begin = end + 1;
  }
  std::string hint = first_obstacle;
  if (hint.empty() && name.find(' ') != name.npos)
    hint =
        "this is one word with blanks in it: take away its quotes, or put sh -c before a line of "
        "the shell";
  if (hint.empty()) hint = "give its absolute path, or set PATH in the experiment's environment";
  return fail(error_class,
              fmt::format("program '{}' was not found; searched PATH={}", name, path_variable),
              hint);
}

// "did you mean 'lib/train.py'?", chosen from the files beside `path`, which the user wrote as
// `written`; empty when none has a similar name.
std::string similar_name(const std::string& path, const std::string& written, FileCalls* calls) {
  constexpr std::size_t most_looked_at = 1'000;
  const std::size_t end = path.rfind('/');
  const std::string folder = path.substr(0, std::max<std::size_t>(end, 1));
  const auto names =
      noted(calls, "open", folder, [&] { return names_in(FolderReader(folder), most_looked_at); });
  const auto meant = nearest(path.substr(end + 1), names);
  if (!meant) return {};
  return fmt::format("did you mean '{}{}'?", written.substr(0, written.rfind('/') + 1), *meant);
}

}  // namespace

ErrorClass class_of_file_error(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case ENOEXEC:
    case ELIBBAD:
      return ErrorClass::missing;
    default:
      return ErrorClass::host;
  }
}

Result<std::string> find_program(std::string_view name, std::string_view path_variable,
                                 std::string_view working_directory, FileCalls* calls) {
  if (name.empty()) return fail(ErrorClass::missing, "the name of the program is empty");
  if (name.find('/') == std::string_view::npos)
    return search(name, path_variable, working_directory, calls);
  const std::string path = absolute(name, working_directory);
  if (const StartObstacle trouble = obstacle(path, calls))
    return fail(trouble.error_class, fmt::format("cannot execute '{}': {}", path, trouble.text),
                "every host of the task needs it there, executable; --context sends a directory of "
                "code to them");
  return path;
}

Result<void> check_program(const std::string& program, FileCalls* calls) {
  if (const StartObstacle trouble = obstacle(program, calls))
    return fail(trouble.error_class, fmt::format("cannot execute '{}': {}", program, trouble.text));
  const auto interpreter = interpreter_of(program, calls);
  if (!interpreter) return {};
  // A relative interpreter is not checked: it depends on the directory that the script will run in.
  const bool has_return = interpreter->back() == '\r';
  const StartObstacle trouble =
      interpreter->front() == '/' || has_return ? obstacle(*interpreter, calls) : StartObstacle{};
  if (!trouble) return {};
  if (has_return)
    return fail(
        ErrorClass::missing,
        fmt::format("cannot execute '{}': its first line ends in a carriage return", program),
        "convert the file to Unix line ends");
  return fail(trouble.error_class,
              fmt::format("cannot execute '{}': its interpreter '{}' cannot be executed: {}",
                          program, *interpreter, trouble.text),
              "install the interpreter on this host, or change the script's first line");
}

Result<void> check_script(const InterpretedScript& script, std::string_view path_variable,
                          std::string_view working_directory, const std::string& hint,
                          FileCalls* calls) {
  const std::string path = absolute(script.path, working_directory);
  const auto ask = [&](const std::string& candidate) {
    return noted(calls, "access", candidate, [&] {
      return ::faccessat(AT_FDCWD, candidate.c_str(), R_OK, AT_EACCESS) == 0 ? 0 : errno;
    });
  };
  const int error = ask(path);
  if (error == 0) return {};
  if (script.is_searched_in_path)
    for (const std::string_view folder : split(path_variable, ':'))
      if (ask(absolute(script.path, absolute(folder, working_directory))) == 0) return {};
  const std::string meant = error == ENOENT ? similar_name(path, script.path, calls) : "";
  return fail(class_of_file_error(error),
              fmt::format("{} cannot read its script '{}': {}", script.interpreter, path,
                          error == ENOENT ? "no such file" : system_reason(error)),
              meant.empty() ? hint : meant);
}

std::optional<std::string> interpreter_of(const std::string& program, FileCalls* calls) {
  const Descriptor file(noted(calls, "open", program, [&] {
    return ::open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  }));
  if (!file) return std::nullopt;  // an executable that cannot be read is no script
  char head[script_head];
  const ssize_t count =
      noted(calls, "read", program, [&] { return ::read(file.get(), head, sizeof head); });
  if (count < 3) return std::nullopt;
  std::string_view line(head, static_cast<size_t>(count));
  if (!line.starts_with("#!")) return std::nullopt;
  line = line.substr(2, line.find('\n') == line.npos ? line.npos : line.find('\n') - 2);
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == line.npos) return std::nullopt;
  line.remove_prefix(begin);
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

Result<void> check_working_directory(const std::string& directory, FileCalls* calls) {
  struct stat status {};
  if (directory.empty() || directory.front() != '/')
    return fail(ErrorClass::missing,
                fmt::format("working directory '{}' is not an absolute path", directory));
  const std::string hint =
      "create it on every host, set working_directory to one that all hosts have, or send the code "
      "with --context";
  if (ask_status(directory, status, calls) != 0)
    return fail(class_of_file_error(errno),
                fmt::format("working directory '{}': {}", directory, system_reason(errno)), hint);
  if (!S_ISDIR(status.st_mode))
    return fail(ErrorClass::missing,
                fmt::format("working directory '{}' is not a directory", directory), hint);
  if (ask_access(directory, calls) != 0)
    return fail(class_of_file_error(errno),
                fmt::format("working directory '{}' cannot be entered: {}", directory,
                            system_reason(errno)),
                hint);
  return {};
}

}  // namespace train
