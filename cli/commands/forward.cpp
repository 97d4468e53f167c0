// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <list>

#include "backends/event_loop/acceptor.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/network/timed_socket.hpp"
#include "backends/posix/child.hpp"
#include "cli/agent/port_connection.hpp"
#include "cli/commands/commands.hpp"
#include "cli/completion/value_kind.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

constexpr int last_port = 65'535;
constexpr std::size_t most_connections = 64;
constexpr std::chrono::seconds between_looks{2};

struct ForwardFlags {
  std::string task;
  int port = 0;
  std::optional<int> local;
  std::optional<int> rank;
  std::optional<int> trial;
};

Result<Descriptor> listen_here(int port) {
  Descriptor socket = listen_on_loopback(port);
  if (socket) return socket;
  return fail(ErrorClass::busy,
              fmt::format("cannot listen on 127.0.0.1:{}: {}", port, system_reason(errno)),
              "choose another port here: --local PORT, or --local 0 for any that is free");
}

/// Connections from here to a port beside a rank. Each is a `train task exec` of its own, which
/// asks anew where the rank is: after a restart the next connection finds it.
class Forwarding {
 public:
  Forwarding(const ForwardFlags& flags, SqliteTaskStore& store, const std::string& id,
             Descriptor listening)
      : store_(store),
        id_(id),
        listening_(std::move(listening)),
        acceptor_(loop_, listening_.get(), [this](Descriptor from) { connect(std::move(from)); }) {
    command_ = {"train", "task", "exec", id, "--no-tty"};
    add("--rank", flags.rank);
    add("--trial", flags.trial);
    for (const std::string& word : {std::string("--"), std::string("train"),
                                    std::string("connect-port"), std::to_string(flags.port)})
      command_.push_back(word);
    signals_ = loop_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int number) {
      code_ = ExitCode(128 + number);
      loop_.stop();
    });
    look_later();
  }
  ~Forwarding() {
    for (Connection& each : connections_) ::kill(-each.child.pid, SIGTERM);
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;

  ExitCode run() {
    loop_.run();
    return code_;
  }

 private:
  struct Connection {
    StartedChild child;
    std::unique_ptr<Subscription> ended;
  };

  void add(const char* option, const std::optional<int>& value) {
    if (!value) return;
    command_.emplace_back(option);
    command_.push_back(std::to_string(*value));
  }

  void connect(Descriptor from) {
    const std::string program = "/proc/self/exe", here = ".";
    const std::vector<std::string> environment = environment_texts();
    // Blocking, as programs expect of their standard streams.
    ::fcntl(from.get(), F_SETFL, 0);
    const Descriptor errors(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    const Descriptor output(::fcntl(from.get(), F_DUPFD_CLOEXEC, 3));
    ChildSetup setup(program, command_, environment, here);
    setup.standard[0] = from.get();
    setup.standard[1] = output.get();
    setup.standard[2] = errors.get();
    Connection& made = connections_.emplace_back(Connection{start_child(setup), nullptr});
    if (made.child.failed != ChildStep::none) {
      talk(terminal_text("a connection is refused: {}", system_reason(made.child.error)));
      connections_.pop_back();
      return;
    }
    const auto at = std::prev(connections_.end());
    made.ended = loop_.when_readable(made.child.pidfd.get(), [this, at] {
      (void)reap(at->child.pidfd.get(), loop_.now());
      loop_.post([this, at] {
        connections_.erase(at);
        acceptor_.go_on();
      });
      at->ended.reset();
    });
    if (connections_.size() == most_connections) acceptor_.pause();
  }

  void look_later() {
    next_look_ = loop_.after(between_looks, [this] {
      const auto task = store_.find(id_);
      if (!task || !is_final(task->state)) return look_later();
      talk(terminal_text("task {} has ended", id_));
      loop_.stop();
    });
  }

  Loop loop_;
  SqliteTaskStore& store_;
  std::string id_;
  Descriptor listening_;
  std::vector<std::string> command_;
  std::list<Connection> connections_;
  Acceptor acceptor_;
  std::unique_ptr<Subscription> signals_;
  std::unique_ptr<Subscription> next_look_;
  ExitCode code_;
};

ExitCode forward_command(const ForwardFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  if (is_final(task->state))
    return report(make_error(ErrorClass::no_input,
                             fmt::format("task {} has ended: nothing of it listens", task->id),
                             "train task list shows those that run"));
  auto listening = listen_here(flags.local.value_or(flags.port));
  if (!listening) return report(listening.error());
  talk(terminal_text("127.0.0.1:{} is port {} beside rank {} of task {}; Ctrl-C ends that",
                     port_of(*listening), flags.port, flags.rank.value_or(0), task->id));
  return Forwarding(flags, **store, task->id, std::move(*listening)).run();
}

ExitCode connect_port_command(int port) {
  const auto done = connect_streams_to_port(port);
  return done ? ExitCode() : report(done.error());
}

}  // namespace

void add_forward(CLI::App& app, Choice& choice) {
  const auto flags = std::make_shared<ForwardFlags>();
  CLI::App* forward = app.add_subcommand("forward", "Reach a port beside a rank from this machine")
                          ->group("Commands");
  add_task_name(*forward, flags->task, value_kind::unfinished_task);
  forward->add_option("PORT", flags->port, "Port on the loopback of the rank's host, such as 6006")
      ->type_name("")
      ->required()
      ->check(whole_number(1, last_port));
  forward->add_option("--rank", flags->rank, "The rank whose host it is; else 0")
      ->type_name("N")
      ->check(whole_number(0, highest_rank));
  add_trial(*forward, flags->trial);
  forward->add_option("--local", flags->local, "Port of 127.0.0.1 here; else the same; 0: any")
      ->type_name("PORT")
      ->check(whole_number(0, last_port));
  forward->footer(
      "Examples:\n"
      "  train forward k3wq 6006\n"
      "  train forward k3wq 6006 --rank 3 --local 16006");
  forward->callback([&choice, flags] { choice.run = [flags] { return forward_command(*flags); }; });

  const auto port = std::make_shared<int>(0);
  CLI::App* connect = app.add_subcommand("connect-port", "")->group("");  // what `forward` calls
  connect->add_option("PORT", *port)->required()->check(whole_number(1, last_port));
  connect->callback(
      [&choice, port] { choice.run = [port] { return connect_port_command(*port); }; });
}

}  // namespace train
