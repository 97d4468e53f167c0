// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <termios.h>

#include <functional>
#include <memory>
#include <string>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/ssh_formats/secret.hpp"

namespace train {

/// Asks the user at the terminal of this process for a secret, one question at a time, without
/// echo. Waits in the event loop: signals (Ctrl-C) keep their effect, and the terminal is restored
/// once the question is answered or this object is destroyed.
class TerminalQuestion {
 public:
  using OnAnswer = std::function<void(std::unique_ptr<Secret>)>;

  explicit TerminalQuestion(Loop& loop) : loop_(loop) {}
  ~TerminalQuestion();
  TerminalQuestion(const TerminalQuestion&) = delete;
  TerminalQuestion& operator=(const TerminalQuestion&) = delete;

  /// Whether a user can be asked: standard input is a terminal.
  static bool is_possible();
  /// `on_answer` is called once, from the loop: with one line, or with null if no user can be
  /// asked, the terminal was closed, or the answer ended with Ctrl-D.
  void ask(const std::string& question, OnAnswer on_answer);
  /// Whether a question waits for its answer.
  bool is_open() const { return readable_ != nullptr; }

 private:
  bool open(const std::string& question);
  void read_some();
  void answer(std::unique_ptr<Secret> text);
  void close();

  Loop& loop_;
  Descriptor terminal_;
  bool is_changed_ = false;
  termios before_{};
  std::unique_ptr<Secret> typed_;
  OnAnswer on_answer_;
  std::unique_ptr<Subscription> readable_;
};

}  // namespace train
