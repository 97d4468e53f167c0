// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "launcher/ports/process_spawner.hpp"
#include "tests/support/waiting.hpp"

namespace train::testing {

/// A directory of this test, mode 0700, removed with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  /// Writes a file, and returns its path.
  std::string write(const std::string& name, const std::string& text, unsigned mode = 0644) const;

 private:
  std::string path_;
};

/// The process exists and is no zombie.
bool is_running(int pid);
/// All running processes that were started with this entry in their environment.
std::vector<int> running_with(const std::string& environment_entry);
/// Open descriptors of this process.
size_t count_descriptors();

/// What a process left behind.
struct Outcome {
  ExitStatus status;
  std::string output;
  std::string errors;
};

/// `/bin/sh -c SCRIPT` in `/` with a PATH and `environment`.
ProcessSpec shell(const std::string& script, std::vector<std::string> environment = {});
/// Reads both pipes to their end and collects the process.
Outcome finish(const SpawnedProcess& process);

/// Everything up to the end of the stream.
std::string read_all(int fd);
/// Up to and without the next newline.
std::string read_line(int fd);
/// False where nobody reads any more; of a pipe that is a signal as well.
bool write_all(int fd, std::string_view bytes);

/// A program with pipes to its standard input and output, killed and collected at the end. Its
/// standard error is this process's.
class PipedProgram {
 public:
  PipedProgram(const std::vector<std::string>& command,
               const std::vector<std::string>& environment);
  ~PipedProgram();
  PipedProgram(const PipedProgram&) = delete;
  PipedProgram& operator=(const PipedProgram&) = delete;

  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  int pid() const { return pid_; }
  void close_input() { input_.reset(); }
  void close_output() { output_.reset(); }
  /// Waits for its end: the exit status, or minus the signal.
  int wait();

 private:
  int pid_ = -1;
  bool is_collected_ = false;
  Descriptor input_;
  Descriptor output_;
};

}  // namespace train::testing
