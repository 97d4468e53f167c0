// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal_question.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "backends/posix/files.hpp"

namespace train {

TerminalQuestion::~TerminalQuestion() { close(); }

bool TerminalQuestion::is_possible() { return ::isatty(STDIN_FILENO) == 1; }

void TerminalQuestion::ask(const std::string& question, OnAnswer on_answer) {
  on_answer_ = std::move(on_answer);
  typed_ = std::make_unique<Secret>();
  if (open(question)) {
    readable_ = loop_.when_readable(terminal_.get(), [this] { read_some(); });
    return;
  }
  // Deferred to the loop, so that the callback is not called inside this call.
  readable_ = loop_.after(nanoseconds(0), [this] { answer(nullptr); });
}

// Uses /dev/tty, as ssh does: the standard streams may be redirected. A background process would be
// stopped for accessing it.
bool TerminalQuestion::open(const std::string& question) {
  terminal_ = Descriptor(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!terminal_ || ::tcgetpgrp(terminal_.get()) != ::getpgrp() ||
      ::tcgetattr(terminal_.get(), &before_) != 0)
    return false;
  termios silent = before_;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHOE | ECHOK | ECHONL);
  silent.c_lflag |= ICANON | ISIG;
  // Discards input typed before the question.
  is_changed_ = ::tcsetattr(terminal_.get(), TCSAFLUSH, &silent) == 0;
  return is_changed_ && write_whole(terminal_.get(), "train: " + question) == 0;
}

void TerminalQuestion::read_some() {
  std::array<char, 256> piece{};
  const ssize_t count = ::read(terminal_.get(), piece.data(), piece.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) return answer(nullptr);
  const std::string_view text(piece.data(), static_cast<std::size_t>(count));
  const std::size_t end = text.find('\n');
  typed_->append(text.substr(0, end));
  wipe(piece.data(), piece.size());
  if (end != text.npos) answer(std::move(typed_));
}

void TerminalQuestion::answer(std::unique_ptr<Secret> text) {
  close();
  const OnAnswer on_answer = std::move(on_answer_);
  on_answer(std::move(text));
}

void TerminalQuestion::close() {
  readable_.reset();
  typed_.reset();
  if (is_changed_) {
    (void)write_whole(terminal_.get(), "\n");  // the user's newline was not echoed
    (void)::tcsetattr(terminal_.get(), TCSANOW, &before_);
  }
  is_changed_ = false;
  terminal_.reset();
}

}  // namespace train
