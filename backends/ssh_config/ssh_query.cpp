// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/ssh_query.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "backends/posix/files.hpp"
#include "backends/process/process_tree.hpp"
#include "backends/process/programs.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

constexpr std::size_t max_output = 1u << 20;
constexpr std::string_view usual_path = "/usr/bin:/bin";

Result<ConnectedProcess> start(const std::vector<std::string>& command,
                               const std::vector<std::string>& environment) {
  const char* path = std::getenv("PATH");
  std::error_code ignored;
  const auto program = find_program(command.front(), path == nullptr ? usual_path : path,
                                    std::filesystem::current_path(ignored).string());
  const std::string next_step = "install OpenSSH's client (Debian: openssh-client)";
  if (!program)
    return fail(ErrorClass::missing,
                fmt::format("there is no '{}' to read ssh's configuration with", command.front()),
                next_step);
  auto process = start_connected({*program, command, environment, OnParentEnd::die, next_step});
  // The program gets no input.
  if (process) ::shutdown(process->stream.get(), SHUT_WR);
  return process;
}

// Collects a killed program. It ends within microseconds, unless it hangs in the kernel, for
// example on a disk.
void collect_killed(Background& reaper, pid_t pid, const Descriptor& pidfd) {
  constexpr int patience_milliseconds = 20;
  if (has_ended(pidfd, patience_milliseconds)) return (void)wait_for_child(pid);
  // If the thread cannot be started, the program stays a zombie as long as this process lives.
  (void)reaper.run([pid] { (void)wait_for_child(pid); }, {});
}

}  // namespace

SshQuery::SshQuery(Loop& loop, std::vector<std::string> command,
                   const std::vector<std::string>& environment, std::chrono::milliseconds deadline,
                   Background& reaper, OnAnswer on_answer)
    : loop_(loop),
      reaper_(reaper),
      command_(std::move(command)),
      limit_(deadline),
      on_answer_(std::move(on_answer)) {
  auto started = start(command_, environment);
  if (!started) {
    deadline_ = loop_.after(nanoseconds(0), [this, why = started.error()] { give_up(why); });
    return;
  }
  process_ = std::move(*started);
  output_.fd = &process_.stream;
  errors_.fd = &process_.errors;
  for (Source* source : {&output_, &errors_})
    source->readable = loop_.when_readable(source->fd->get(), [this, source] { drain(*source); });
  exited_ = loop_.when_readable(process_.pidfd.get(), [this] { on_exit(); });
  deadline_ = loop_.after(limit_, [this] {
    give_up(make_error(ErrorClass::host,
                       fmt::format("'{}' gave no answer within {:g} s", shown_command(),
                                   static_cast<double>(limit_.count()) / 1000),
                       "run it; a 'Match exec' or a name server may hang"));
  });
}

SshQuery::~SshQuery() { end_process(); }

// Output beyond the limit is dropped.
void SshQuery::drain(Source& source) {
  std::array<char, 16384> piece;
  ssize_t count = 0;
  while ((count = read_some(source.fd->get(), piece.data(), piece.size())) > 0)
    source.text.append(piece.data(),
                       std::min(static_cast<std::size_t>(count),
                                max_output - std::min(max_output, source.text.size())));
  if (count == 0) source.readable.reset();
}

void SshQuery::on_exit() {
  const auto status = reap(process_.pidfd.get(), loop_.now());
  if (!status || !*status) return;
  process_.pid = -1;
  drain(output_);
  drain(errors_);
  if ((*status)->code == 0) return answer(std::move(output_.text));
  const int number = (*status)->code.value_or((*status)->signal.value_or(0));
  const std::string said = printable(errors_.text, 500);
  give_up(make_error(ErrorClass::host,
                     fmt::format("'{}' failed: {}", shown_command(),
                                 said.empty() ? fmt::format("status {}", number) : said),
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
  if (process_.pid > 0) {
    (void)signal_group(process_.pid, SIGKILL);
    collect_killed(reaper_, process_.pid, process_.pidfd);
  }
  process_ = {};
}

std::string SshQuery::shown_command() const { return shell_line(command_); }

}  // namespace train
