// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

#include "backends/posix/files.hpp"
#include "cli/adoption.hpp"
#include "cli/commands.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "cli/task_hosts.hpp"
#include "cli/transports.hpp"
#include "config_schema/text/duration.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/wire/exec_talk.hpp"

namespace train {

namespace {

// Of what is typed or piped in, so much may be on its way: more is read when that has gone.
constexpr std::size_t most_unsent = 256u << 10;
constexpr milliseconds next_try{20};

constexpr int not_found = 127;  // as a shell says it
constexpr int not_runnable = 126;

TerminalSize size_of_terminal() {
  winsize cells{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &cells) != 0) return {};
  return {cells.ws_row, cells.ws_col};
}

bool is_stream(int fd) {
  struct stat status {};
  return ::isatty(fd) == 1 ||
         (::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)));
}

// Keys go to the command as they are, until this is gone.
class RawTerminal {
 public:
  RawTerminal() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    is_raw_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  }
  ~RawTerminal() {
    if (is_raw_) (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool is_raw_ = false;
};

// One command beside a rank, from here to its end.
class Exec {
 public:
  Exec(const TaskExecFlags& flags, const Host& host, const std::string& key)
      : flags_(flags),
        host_name_(host.name),
        has_terminal_(!flags.no_terminal && ::isatty(STDIN_FILENO) == 1 &&
                      ::isatty(STDOUT_FILENO) == 1),
        transports_(loop_, {host}, std::nullopt,
                    [](const std::string& said) { talk(TerminalText(said)); }) {
    LinkEvents events;
    events.on_open = [this](const LinkInfo&) { opened(); };
    events.on_bytes = [this](std::string_view bytes) { heard(bytes); };
    events.on_closed = [this](const Error& why) { lost(why); };
    link_ = transports_.open(host, {key, AgentCall::Verb::exec}, std::move(events));
  }

  ExitCode run() {
    // Before the terminal is raw, Ctrl-C is for this process.
    if (!has_terminal_) forward_signals();
    loop_.run();
    raw_.reset();
    return said_end_;
  }

 private:
  void forward_signals() {
    signals_ = loop_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int number) {
      if (is_open_ && signals_told_++ == 0)
        link_->send(encode_exec(exec_talk::Signal{number}));
      else
        leave(ExitCode(128 + number));  // it does not end, or is not there yet
    });
  }

  void opened() {
    is_open_ = true;
    heard_at_ = loop_.now();
    exec_talk::Start start{flags_.rank, flags_.command, std::nullopt};
    if (has_terminal_) {
      raw_.emplace();
      start.terminal = size_of_terminal();
      if (const char* type = std::getenv("TERM")) start.terminal_type = type;
      resized_ = loop_.on_signals({SIGWINCH}, [this](int) {
        link_->send(encode_exec(exec_talk::Resize{size_of_terminal()}));
      });
    }
    link_->send(encode_exec(start));
    read_on();
    stay_alive();
  }

  void stay_alive() {
    link_->send(encode_exec(exec_talk::Alive{}));
    alive_ = loop_.after(exec_alive_period, [this] { stay_alive(); });
    if (loop_.now() - heard_at_ >= longest_exec_silence)
      lost(make_error(ErrorClass::host,
                      fmt::format("no sign of life for {}", duration_text(longest_exec_silence)),
                      "the command ends there as soon as the host notices"));
  }

  // What is there to be typed. Files and /dev/null can always be read, and no loop waits for them.
  void read_on() {
    input_ = is_stream(STDIN_FILENO)
                 ? loop_.when_readable(STDIN_FILENO, [this] { (void)read_input(); })
                 : loop_.after(nanoseconds(0), [this] {
                     if (read_input()) read_on();
                   });
  }

  // False where there is nothing to be read at once.
  bool read_input() {
    if (link_->unsent_bytes() > most_unsent) {
      input_ = loop_.after(next_try, [this] { read_on(); });
      return false;
    }
    std::array<char, longest_exec_piece> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (count > 0) {
      link_->send(
          encode_exec_bytes(0, std::string_view(bytes.data(), static_cast<std::size_t>(count))));
      return true;
    }
    input_.reset();
    link_->send(encode_exec(exec_talk::EndOfInput{}));
    return false;
  }

  void heard(std::string_view bytes) {
    heard_at_ = loop_.now();
    decoder_.feed(bytes);
    while (!is_over_) {
      const auto frame = decoder_.next();
      if (!frame) return lost(frame.error());
      if (!*frame) return;
      if ((*frame)->kind == FrameKind::output)
        printed((*frame)->payload);
      else
        told((*frame)->payload);
    }
  }

  void printed(std::string_view payload) {
    const auto piece = decode_exec_bytes(payload);
    if (!piece) return lost(piece.error());
    if (write_whole(piece->stream == 2 ? STDERR_FILENO : STDOUT_FILENO, piece->bytes) != 0)
      leave(ExitCode(128 + SIGPIPE));  // nobody reads it
  }

  void told(std::string_view payload) {
    const auto message = decode_exec(payload);
    if (!message) return lost(message.error());
    if (const auto* end = std::get_if<exec_talk::End>(&*message)) ended(*end);
  }

  void ended(const exec_talk::End& end) {
    raw_.reset();
    if (!end.refusal.empty()) {
      talk(terminal_text("host '{}': {}", host_name_, end.refusal));
      return leave(ExitCode(end.is_missing ? not_found : not_runnable));
    }
    if (end.rank_ended)
      talk(terminal_text("rank {} has ended, and the command with it", flags_.rank));
    leave(ExitCode(end.code ? *end.code : 128 + *end.signal));
  }

  void lost(const Error& why) {
    if (is_over_) return;
    raw_.reset();
    leave(report(with_context(why, fmt::format("host '{}'", host_name_))));
  }

  void leave(ExitCode code) {
    is_over_ = true;
    said_end_ = code;
    loop_.stop();
  }

  const TaskExecFlags& flags_;
  const std::string host_name_;
  const bool has_terminal_;
  Loop loop_;
  HostTransports transports_;
  FrameDecoder decoder_{FrameSender::agent};
  std::optional<RawTerminal> raw_;
  Instant heard_at_{};
  bool is_open_ = false;
  bool is_over_ = false;
  int signals_told_ = 0;
  ExitCode said_end_;
  std::unique_ptr<HostLink> link_;
  std::unique_ptr<Subscription> signals_;
  std::unique_ptr<Subscription> resized_;
  std::unique_ptr<Subscription> alive_;
  std::unique_ptr<Subscription> input_;
};

// Its words with the agent are those of the build that launched the task.
std::vector<std::string> arguments_of(const TaskExecFlags& flags, const std::string& task_id) {
  std::vector<std::string> arguments = {"task", "exec", task_id, "--rank",
                                        std::to_string(flags.rank)};
  if (flags.no_terminal) arguments.emplace_back("--no-tty");
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), flags.command.begin(), flags.command.end());
  return arguments;
}

}  // namespace

ExitCode task_exec_command(const TaskExecFlags& flags) {
  if (flags.command.empty())
    return report(make_error(ErrorClass::usage, "there is nothing to run beside the rank",
                             "write a command after --: train task exec TASK -- nvidia-smi"));
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  if (is_final(task->state))
    return report(make_error(ErrorClass::no_input,
                             fmt::format("task {} has ended: {}", task->id, to_string(task->state)),
                             "a command runs beside a rank only as long as that runs"));
  // Where it cannot be executed, this one may be understood all the same.
  if (auto same = become_kept_program(**store, *task, arguments_of(flags, task->id)); !same)
    talk(terminal_text(same.error()));
  const auto where = read_rank_host(**store, *task, flags.rank);
  if (!where) return report(where.error());
  std::signal(SIGPIPE, SIG_IGN);
  store->reset();  // it may take long
  return Exec(flags, where->host, where->key).run();
}

}  // namespace train
