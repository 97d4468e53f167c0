// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/process/testing.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train::testing {

using namespace std::chrono_literals;

TemporaryDirectory::TemporaryDirectory() {
  char name[] = "/tmp/train-test-XXXXXX";
  if (::mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(const std::string& name, const std::string& text,
                                      unsigned mode) const {
  std::string path = path_ + "/" + name;
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}

bool is_running(int pid) {
  const std::string stat = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != stat.npos && stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

std::vector<int> running_with(const std::string& environment_entry) {
  std::vector<int> found;
  for (const int pid : all_processes()) {
    const std::string environment = std::string(1, '\0') + environment_of(pid);
    const std::string entry = std::string(1, '\0') + environment_entry + std::string(1, '\0');
    if (environment.find(entry) != environment.npos && is_running(pid)) found.push_back(pid);
  }
  return found;
}

size_t count_descriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

ProcessSpec shell(const std::string& script, std::vector<std::string> environment) {
  environment.emplace_back("PATH=/usr/bin:/bin");
  return {"/bin/sh", {"sh", "-c", script}, std::move(environment), "/"};
}

Outcome finish(const SpawnedProcess& process) {
  Outcome outcome;
  const Descriptor pidfd(process.pidfd);
  Descriptor output(process.stdout_fd);
  Descriptor errors(process.stderr_fd);
  while (output || errors) {
    std::array<pollfd, 2> polled = {pollfd{output.get(), POLLIN, 0},
                                    pollfd{errors.get(), POLLIN, 0}};
    // waits: again and again
    if (!eventually([&] { return ::poll(polled.data(), polled.size(), 100) > 0; }))
      throw std::runtime_error("no output");
    for (auto& [stream, text] : {std::pair{&output, &outcome.output}, {&errors, &outcome.errors}}) {
      std::array<char, 65536> buffer;
      const ssize_t count = ::read(stream->get(), buffer.data(), buffer.size());
      if (count > 0) text->append(buffer.data(), static_cast<size_t>(count));
      if (count == 0) stream->reset();
    }
  }
  if (!becomes_readable(pidfd.get())) throw std::runtime_error("no end");
  const auto status = reap(pidfd.get(), Instant(1));
  if (!status || !*status) throw std::runtime_error("not collected");
  outcome.status = **status;
  return outcome;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    if (!becomes_readable(fd)) throw std::runtime_error("the stream does not end");
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
}

std::string read_line(int fd) {
  std::string line;
  char byte = 0;
  while (true) {
    if (!becomes_readable(fd)) throw std::runtime_error("no line comes");
    if (::read(fd, &byte, 1) != 1 || byte == '\n') return line;
    line += byte;
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == ENOTSOCK) count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) return false;
    if (count <= 0) throw std::runtime_error("cannot write");
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

PipedProgram::PipedProgram(const std::vector<std::string>& command,
                           const std::vector<std::string>& environment) {
  auto input = make_pipe();
  auto output = make_pipe();
  if (!input || !output) throw std::runtime_error("make_pipe");
  std::vector<char*> argv;
  for (const auto& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> variables;
  for (const auto& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(input->read_end.get(), 0);
    ::dup2(output->write_end.get(), 1);
    ::execve(argv[0], argv.data(), variables.data());
    ::_exit(127);
  }
  input_ = std::move(input->write_end);
  output_ = std::move(output->read_end);
}

PipedProgram::~PipedProgram() {
  if (is_collected_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

int PipedProgram::wait() {
  int status = 0;
  const bool has_ended = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
  if (!has_ended) throw std::runtime_error("the program does not end");
  is_collected_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace train::testing
