// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "tests/support/waiting.hpp"

namespace train::testing {

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A child process that is talked to over its stdin and stdout, with deadlines.
class ShellDialogue {
 public:
  ShellDialogue(const std::vector<std::string>& argv, const std::string& home) {
    int to[2];
    int from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) ::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      ::setenv("HOME", home.c_str(), 1);
      std::vector<char*> words;
      for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      ::execvp(words[0], words.data());
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    in_ = to[1];
    out_ = from[0];
  }
  ~ShellDialogue() {
    finish_input();
    if (out_ >= 0) ::close(out_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  ShellDialogue(const ShellDialogue&) = delete;
  ShellDialogue& operator=(const ShellDialogue&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(in_, bytes.data(), bytes.size());
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void finish_input() {
    if (in_ >= 0) ::close(in_);
    in_ = -1;
  }
  /// Some bytes of stdout; empty at its end. Throws after 20 s of silence on an idle machine.
  std::string read() {
    char bytes[4096];
    if (!becomes_readable(out_, std::chrono::seconds(20)))
      throw std::runtime_error("the program says nothing");
    const ssize_t count = ::read(out_, bytes, sizeof bytes);
    return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
  }
  /// Everything until the end of stdout.
  std::string read_all() {
    std::string all;
    for (std::string piece = read(); !piece.empty(); piece = read()) all += piece;
    return all;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
};

/// The standard output of a command line of /bin/sh.
inline std::string output_of(const std::string& command) {
  ShellDialogue dialogue({"/bin/sh", "-c", command}, "/");
  dialogue.finish_input();
  return dialogue.read_all();
}

}  // namespace train::testing
