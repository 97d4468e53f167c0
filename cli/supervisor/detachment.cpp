// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/detachment.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <map>

#include "backends/posix/child.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/limits.hpp"
#include "backends/posix/login_session.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

volatile std::sig_atomic_t forked_supervisor = 0;

// Ctrl-C reaches both processes through the terminal; a SIGTERM is sent to the old process, the one
// that its sender knows, so it is passed on.
void pass_on_signal(int number) { (void)::kill(static_cast<pid_t>(forked_supervisor), number); }

/// The signal handling of the old process while the new one is attached to the terminal.
class PassedOn {
 public:
  // Blocks signals, so that none reaches the old process with its old handlers after the new
  // process exists.
  pid_t fork() {
    const WithoutSignals blocked;
    const pid_t supervisor = ::fork();
    if (supervisor <= 0) return supervisor;
    forked_supervisor = supervisor;
    for (const int number : {SIGINT, SIGQUIT, SIGHUP}) replace(number, SIG_IGN);
    replace(SIGTERM, pass_on_signal);
    return supervisor;
  }
  /// Restores the previous handlers.
  void end() {
    for (const auto& [number, action] : before_) (void)::sigaction(number, &action, nullptr);
    before_.clear();
  }

 private:
  void replace(int number, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    (void)::sigaction(number, &action, &before_[number]);
  }
  std::map<int, struct sigaction> before_;
};

// Reads until the other end is closed.
std::string read_to_end(int fd) {
  std::string text;
  char buffer[64];
  while (true) {
    const ssize_t count = uninterrupted([&] { return ::read(fd, buffer, sizeof buffer); });
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

// The warning about what a logout does: even a detached process may not outlive its login session.
TerminalText words_on_logout() {
  switch (at_own_logout()) {
    case AtLogout::kills_session:
      return terminal_text(
          "warning: logind here kills what a login has started when it ends "
          "(KillUserProcesses=yes), this launcher too; what is started so outlives it:\n"
          "  loginctl enable-linger && systemd-run --user --scope train ...");
    case AtLogout::ends_manager:
      return terminal_text(
          "warning: your last logout here ends your systemd and what runs below it, this launcher "
          "too; this keeps it:\n"
          "  loginctl enable-linger");
    case AtLogout::nothing:
      break;
  }
  return {};
}

// Descriptors that the caller left open (`7<secret train launch -d ...`). All descriptors of this
// program are close-on-exec, so any other one was inherited. They are closed late, because files
// are still read from them (`<(command)`).
std::vector<Descriptor> inherited_descriptors() {
  std::vector<Descriptor> inherited;
  for (const std::string& name : names_in(FolderReader("/proc/self/fd"))) {
    int fd = -1;
    (void)std::from_chars(name.data(), name.data() + name.size(), fd);
    const int flags = ::fcntl(fd, F_GETFD);
    if (fd > STDERR_FILENO && flags >= 0 && (flags & FD_CLOEXEC) == 0) inherited.emplace_back(fd);
  }
  return inherited;
}

}  // namespace

bool redirect_output(const std::string& file) {
  const Descriptor log(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log) return false;
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) (void)::dup2(log.get(), standard);
  return true;
}

std::optional<ExitCode> Detachment::fork(
    const std::function<ExitCode(const std::string& report)>& on_report) {
  auto pipe = make_pipe();
  if (!pipe) return report(pipe.error());
  PassedOn signals;
  const pid_t supervisor = signals.fork();
  if (supervisor < 0)
    return report(make_error(ErrorClass::host, "cannot start a process: " + system_reason(errno),
                             "the user's limit of processes may be reached (ulimit -u)"));
  if (supervisor == 0) {
    report_ = std::move(pipe->write_end);
    inherited_ = inherited_descriptors();
    leave_no_core();
    return std::nullopt;
  }
  pipe->write_end.reset();
  const std::string told = read_to_end(pipe->read_end.get());
  if (!told.empty()) {
    signals.end();
    return on_report(told);
  }
  const ExitStatus ended = wait_for_child(supervisor);
  return ExitCode(ended.code.value_or(128 + ended.signal.value_or(0)));
}

void Detachment::leave_terminal(const std::string& report, const std::string& log_file,
                                StopSignals& signals) {
  if (!report_) return;
  if (const TerminalText words = words_on_logout(); !words.empty()) talk(words);
  signals.ignore_hangup();
  (void)::setsid();  // a forked process is no group leader, so this succeeds
  if (!redirect_output(log_file)) (void)redirect_output("/dev/null");
  if (const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC)); null)
    (void)::dup2(null.get(), STDIN_FILENO);
  inherited_.clear();
  send(report);
}

void Detachment::send(const std::string& report) {
  if (report_) (void)write_whole(report_.get(), report);
  report_.reset();
}

}  // namespace train
