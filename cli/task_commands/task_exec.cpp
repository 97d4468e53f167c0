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
#include <functional>
#include <utility>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/posix/files.hpp"
#include "cli/commands/flags.hpp"
#include "cli/record/task_hosts.hpp"
#include "cli/request/transports.hpp"
#include "cli/supervisor/adoption.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/text/duration.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/talks/exec_talk.hpp"

namespace train {

namespace {

struct TaskExecFlags {
  std::string task;
  std::optional<int> trial;  ///< if the task is a search
  int rank = 0;
  bool no_terminal = false;
  std::vector<std::string> command;  ///< after `--`
};

// Unwritten output is bounded: when there is room again, the host sends one more piece of each
// stream.
constexpr std::uint64_t most_unwritten = exec_window + 2 * (longest_exec_rest + longest_exec_piece);

constexpr int not_found = 127;  // as a shell returns it
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

// Raw mode passes keys to the command unchanged, until this object is destroyed.
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

// One command beside a rank, from its start to its end. Output is written on another thread: its
// reader may pause for hours, while signals and keep-alives must continue.
class Exec {
 public:
  Exec(const TaskExecFlags& flags, const Host& host, const std::string& key)
      : flags_(flags),
        host_name_(host.name),
        has_terminal_(!flags.no_terminal && ::isatty(STDIN_FILENO) == 1 &&
                      ::isatty(STDOUT_FILENO) == 1),
        transports_(loop_, {host}, std::nullopt,
                    [](const std::string& said) { talk(TerminalText(said)); }),
        background_(loop_) {
    LinkEvents events;
    events.on_open = [this](const LinkInfo&) { opened(); };
    events.on_bytes = [this](std::string_view bytes) { receive(bytes); };
    events.on_closed = [this](const Error& why) { lost(why); };
    link_ = transports_.open(host, {key, AgentCall::Verb::exec}, std::move(events));
  }

  ExitCode run() {
    forward_signals();
    loop_.run();
    raw_.reset();
    return said_end_;
  }

 private:
  struct Printed {
    int stream = 1;
    std::string bytes;
  };
  // Work of the writing thread; the loop reads it when the work is done.
  struct Work {
    std::vector<Printed> pieces;
    std::uint64_t bytes = 0;
    int error = 0;  ///< errno
  };

  // On a raw terminal, Ctrl-C arrives as a key; a signal is meant for this process only.
  void forward_signals() {
    signals_ = loop_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int number) {
      if (is_open_ && !has_terminal_ && signals_told_++ == 0)
        link_->send(encode_exec(exec_talk::Signal{number}));
      else
        // The command does not end on a signal, or has not started yet.
        leave(ExitCode(128 + number));
    });
  }

  void opened() {
    is_open_ = true;
    heard_at_ = loop_.now();
    exec_talk::Start start{flags_.rank, flags_.command, std::nullopt};
    start.trial = flags_.trial.value_or(0);
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

  // Starts reading the input. Files and /dev/null are always readable and cannot be polled by the
  // loop.
  void read_on() {
    input_ = is_stream(STDIN_FILENO)
                 ? loop_.when_readable(STDIN_FILENO, [this] { (void)read_input(); })
                 : loop_.after(nanoseconds(0), [this] {
                     if (read_input()) read_on();
                   });
  }

  // Returns false if there is nothing to read immediately.
  bool read_input() {
    if (typed_ - taken_ > exec_window - longest_exec_piece) {
      input_.reset();  // until the command has taken some input
      is_input_full_ = true;
      return false;
    }
    std::array<char, longest_exec_piece> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (count > 0) {
      typed_ += static_cast<std::uint64_t>(count);
      link_->send(
          encode_exec_bytes(0, std::string_view(bytes.data(), static_cast<std::size_t>(count))));
      return true;
    }
    input_.reset();
    link_->send(encode_exec(exec_talk::EndOfInput{}));
    return false;
  }

  void receive(std::string_view bytes) {
    heard_at_ = loop_.now();
    decoder_.feed(bytes);
    while (!end_) {
      const auto frame = decoder_.next();
      if (!frame) return lost(frame.error());
      if (!*frame) return;
      if ((*frame)->kind == FrameKind::output)
        printed((*frame)->payload);
      else
        handle_message((*frame)->payload);
    }
  }

  void printed(std::string_view payload) {
    const auto piece = decode_exec_bytes(payload);
    if (!piece) return lost(piece.error());
    arrived_ += piece->bytes.size();
    if (arrived_ > written_ + most_unwritten)
      return lost(not_our_protocol("sent more than was asked for"));
    const int stream = piece->stream == 2 ? STDERR_FILENO : STDOUT_FILENO;
    if (waiting_.empty() || waiting_.back().stream != stream)
      waiting_.push_back({stream, std::string(piece->bytes)});
    else
      waiting_.back().bytes += piece->bytes;
    write_waiting();
  }

  void write_waiting() {
    if (is_writing_) return;
    if (waiting_.empty()) {
      if (end_) end_();
      return;
    }
    const auto work = std::make_shared<Work>(Work{std::exchange(waiting_, {})});
    for (const Printed& piece : work->pieces) work->bytes += piece.bytes.size();
    is_writing_ = true;
    const auto started = background_.run(
        [work] {
          for (const Printed& piece : work->pieces)
            if (work->error == 0) work->error = write_whole(piece.stream, piece.bytes);
        },
        [this, work] { written(*work); });
    if (!started) leave(report(started.error()));
  }

  void written(const Work& work) {
    is_writing_ = false;
    if (work.error == EPIPE) return leave(ExitCode(128 + SIGPIPE));  // the reader is gone
    if (work.error != 0) {
      raw_.reset();
      return leave(report(make_error(
          ErrorClass::no_input,
          fmt::format("what the command prints cannot be written: {}", system_reason(work.error)),
          "it was ended")));
    }
    written_ += work.bytes;
    if (!end_) link_->send(encode_exec(exec_talk::Taken{written_}));
    write_waiting();
  }

  void handle_message(std::string_view payload) {
    const auto message = decode_exec(payload);
    if (!message) return lost(message.error());
    if (const auto* end = std::get_if<exec_talk::End>(&*message))
      end_with([this, said = *end] { ended(said); });
    else if (const auto* taken = std::get_if<exec_talk::Taken>(&*message))
      typed_was_taken(taken->bytes);
  }

  void typed_was_taken(std::uint64_t bytes) {
    if (bytes < taken_ || bytes > typed_) return lost(not_our_protocol("took what was not sent"));
    taken_ = bytes;
    if (std::exchange(is_input_full_, false)) read_on();
  }

  // Calls `end` once all output is written.
  void end_with(std::function<void()> end) {
    end_ = std::move(end);
    alive_.reset();
    write_waiting();
  }

  void ended(const exec_talk::End& end) {
    raw_.reset();
    if (!end.refusal.empty()) {
      talk(terminal_text("host '{}': {}", host_name_, end.refusal));
      return leave(ExitCode(end.is_missing ? not_found : not_runnable));
    }
    if (end.rank_ended)
      talk(terminal_text("rank {} has ended, and all that ran beside it", flags_.rank));
    leave(ExitCode(end.code ? *end.code : 128 + *end.signal));
  }

  void lost(const Error& why) {
    if (end_) return;
    end_with([this, error = with_context(why, fmt::format("host '{}'", host_name_))] {
      raw_.reset();
      leave(report(error));
    });
  }

  void leave(ExitCode code) {
    said_end_ = code;
    loop_.stop();
  }

  const TaskExecFlags& flags_;
  const std::string host_name_;
  const bool has_terminal_;
  Loop loop_;
  HostTransports transports_;
  Background background_;
  FrameDecoder decoder_{FrameSender::agent};
  std::optional<RawTerminal> raw_;
  Instant heard_at_{};
  bool is_open_ = false;
  bool is_writing_ = false;
  std::vector<Printed> waiting_;  ///< to be written
  std::uint64_t arrived_ = 0;     ///< bytes of output received
  std::uint64_t written_ = 0;     ///< of those, written
  std::uint64_t typed_ = 0;       ///< bytes of input sent
  std::uint64_t taken_ = 0;       ///< of those, taken by the command
  bool is_input_full_ = false;
  std::function<void()> end_;  ///< what to do at the end, once the command has ended
  int signals_told_ = 0;
  ExitCode said_end_;
  std::unique_ptr<HostLink> link_;
  std::unique_ptr<Subscription> signals_;
  std::unique_ptr<Subscription> resized_;
  std::unique_ptr<Subscription> alive_;
  std::unique_ptr<Subscription> input_;
};

// The arguments for the build of train that launched the task: its protocol fits the agent.
std::vector<std::string> arguments_of(const TaskExecFlags& flags, const std::string& task_id) {
  std::vector<std::string> arguments = {"task", "exec", task_id, "--rank",
                                        std::to_string(flags.rank)};
  if (flags.trial) arguments.insert(arguments.end(), {"--trial", std::to_string(*flags.trial)});
  if (flags.no_terminal) arguments.emplace_back("--no-tty");
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), flags.command.begin(), flags.command.end());
  return arguments;
}

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
  // If that build cannot be executed, continues with this one, which may be compatible.
  if (auto same = become_kept_program(**store, *task, arguments_of(flags, task->id)); !same)
    talk(terminal_text(same.error()));
  const auto where = read_rank_host(**store, *task, flags.trial, flags.rank);
  if (!where) return report(where.error());
  if (where->has_ended)
    return report(make_error(ErrorClass::no_input,
                             fmt::format("trial {} of task {} has ended", *flags.trial, task->id),
                             "a command runs beside a rank only as long as that runs"));
  std::signal(SIGPIPE, SIG_IGN);
  store->reset();  // the command may run for a long time
  return Exec(flags, where->host, where->key).run();
}

}  // namespace

void add_task_exec(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskExecFlags>();
  CLI::App* exec =
      task.add_subcommand("exec", "Run a command, after --, beside a rank")->group("Commands");
  add_task_name(*exec, flags->task, value_kind::unfinished_task);
  exec->add_option("--rank", flags->rank, "Beside this rank; else rank 0")
      ->type_name("N")
      ->check(whole_number(0, highest_rank));
  add_trial(*exec, flags->trial);
  exec->add_flag("--no-tty", flags->no_terminal, "Use pipes in place of a terminal, also at one");
  exec->footer(
      "Examples:\n"
      "  train task exec k3wq -- nvidia-smi\n"
      "  train task exec k3wq --rank 3 -- /bin/bash");
  exec->callback([&choice, flags] {
    flags->command = choice.take_command();
    choice.run = [flags] { return task_exec_command(*flags); };
  });
}

}  // namespace train
