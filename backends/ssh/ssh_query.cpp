// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_query.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "launcher/bootstrap/host_words.hpp"

namespace train {

namespace {

constexpr std::size_t max_output = 1u << 20;
constexpr int first_above_standard = 3;

// With a null pointer at the end.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// A session of its own (no terminal to ask on), default signals, nothing open but the standard
// three.
class SpawnOptions {
 public:
  SpawnOptions(int output, int errors) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t set;
    ::sigfillset(&set);
    ::posix_spawnattr_setsigdefault(&attributes_, &set);
    ::sigemptyset(&set);
    ::posix_spawnattr_setsigmask(&attributes_, &set);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, first_above_standard);
  }
  ~SpawnOptions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;

  int spawn(pid_t& pid, const std::vector<std::string>& command,
            const std::vector<std::string>& environment) const {
    const std::vector<char*> argv = pointers_to(command);
    const std::vector<char*> variables = pointers_to(environment);
    return ::posix_spawnp(&pid, argv[0], &actions_, &attributes_, argv.data(), variables.data());
  }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

void close_descriptor(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// Both ends above the standard descriptors, or setting those up in the child overwrites them.
bool make_pipe(int (&ends)[2]) {
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  for (int& end : ends) {
    if (end >= first_above_standard) continue;
    const int moved = ::fcntl(end, F_DUPFD_CLOEXEC, first_above_standard);
    close_descriptor(end);
    end = moved;
  }
  return ends[0] >= 0 && ends[1] >= 0 && ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

}  // namespace

SshQuery::SshQuery(Loop& loop, std::vector<std::string> command,
                   const std::vector<std::string>& environment, std::chrono::milliseconds deadline,
                   OnAnswer on_answer)
    : loop_(loop),
      command_(std::move(command)),
      limit_(deadline),
      on_answer_(std::move(on_answer)) {
  const int error = start(environment);
  deadline_ = loop_.after(error == 0 ? nanoseconds(limit_) : nanoseconds(0), [this, error] {
    if (error == 0)
      return give_up(make_error(ErrorClass::host,
                                fmt::format("'{}' gave no answer within {:g} s", shown_command(),
                                            static_cast<double>(limit_.count()) / 1000),
                                "run it; a 'Match exec' or a name server may hang"));
    const bool is_missing = error == ENOENT;
    give_up(make_error(
        is_missing ? ErrorClass::missing : ErrorClass::host,
        is_missing
            ? fmt::format("there is no '{}' to read ssh's configuration with", command_.front())
            : fmt::format("cannot run '{}': {}", shown_command(), ::strerror(error)),
        is_missing ? "install the OpenSSH client" : ""));
  });
}

SshQuery::~SshQuery() { end_process(); }

// 0 or errno.
int SshQuery::start(const std::vector<std::string>& environment) {
  int output[2] = {-1, -1};
  int errors[2] = {-1, -1};
  int error = make_pipe(output) && make_pipe(errors) ? 0 : errno;
  if (error == 0) error = SpawnOptions(output[1], errors[1]).spawn(pid_, command_, environment);
  close_descriptor(output[1]);
  close_descriptor(errors[1]);
  output_.fd = output[0];
  errors_.fd = errors[0];
  if (error != 0) {
    pid_ = -1;
    return error;
  }
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (pidfd_ < 0) return errno;
  output_.readable = loop_.when_readable(output_.fd, [this] { drain(output_); });
  errors_.readable = loop_.when_readable(errors_.fd, [this] { drain(errors_); });
  exited_ = loop_.when_readable(pidfd_, [this] { on_exit(); });
  return 0;
}

// What comes after the limit is dropped.
void SshQuery::drain(Pipe& pipe) {
  std::array<char, 16384> piece;
  ssize_t count = 0;
  while ((count = ::read(pipe.fd, piece.data(), piece.size())) > 0)
    pipe.text.append(piece.data(), std::min(static_cast<std::size_t>(count),
                                            max_output - std::min(max_output, pipe.text.size())));
  if (count == 0) pipe.readable.reset();
}

void SshQuery::on_exit() {
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd_), &info, WEXITED | WNOHANG) != 0)
    if (errno != EINTR) break;
  if (info.si_pid == 0) return;
  pid_ = -1;
  drain(output_);
  drain(errors_);
  if (info.si_code == CLD_EXITED && info.si_status == 0) return answer(std::move(output_.text));
  const std::string said = printable(errors_.text, 500);
  give_up(make_error(ErrorClass::host,
                     fmt::format("'{}' failed: {}", shown_command(),
                                 said.empty() ? fmt::format("status {}", info.si_status) : said),
                     "correct ssh's configuration"));
}

void SshQuery::give_up(Error why) { answer(tl::make_unexpected(std::move(why))); }

void SshQuery::answer(Result<std::string> result) {
  end_process();
  const OnAnswer on_answer = std::move(on_answer_);
  on_answer(std::move(result));
}

void SshQuery::end_process() {
  deadline_.reset();
  exited_.reset();
  output_.readable.reset();
  errors_.readable.reset();
  if (pid_ > 0) {
    // Its session is its process group. After SIGKILL its end is a matter of microseconds.
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  pid_ = -1;
  close_descriptor(pidfd_);
  close_descriptor(output_.fd);
  close_descriptor(errors_.fd);
}

std::string SshQuery::shown_command() const {
  std::string text;
  for (const std::string& word : command_) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

}  // namespace train
