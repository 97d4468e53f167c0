// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/posix/connected_process.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Runs a program for its output, without a terminal and without input; it is searched in the PATH
/// of this process. Destroying the query kills the program and its process group.
class SshQuery {
 public:
  /// The output when it exited with status 0; else an error of class `host` (or `missing`, when
  /// there is no such program) with its last error output. Called once, from the loop; the query
  /// may be destroyed inside.
  using OnAnswer = std::function<void(Result<std::string>)>;

  /// `environment` are the program's variables, "NAME=value". `reaper`, which must outlive the
  /// query, collects a killed program that does not end at once because it hangs in the kernel.
  SshQuery(Loop& loop, std::vector<std::string> command,
           const std::vector<std::string>& environment, std::chrono::milliseconds deadline,
           Background& reaper, OnAnswer on_answer);
  ~SshQuery();
  SshQuery(const SshQuery&) = delete;
  SshQuery& operator=(const SshQuery&) = delete;

 private:
  struct Source {
    const Descriptor* fd = nullptr;
    std::string text;
    std::unique_ptr<Subscription> readable;
  };

  void drain(Source& source);
  void on_exit();
  void give_up(Error why);
  void answer(Result<std::string> result);
  void end_process();
  std::string shown_command() const;

  Loop& loop_;
  Background& reaper_;
  std::vector<std::string> command_;
  std::chrono::milliseconds limit_;
  OnAnswer on_answer_;
  ConnectedProcess process_;
  Source output_;
  Source errors_;
  std::unique_ptr<Subscription> exited_;
  std::unique_ptr<Subscription> deadline_;
};

}  // namespace train
