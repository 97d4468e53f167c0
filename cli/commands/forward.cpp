// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "backends/event_loop/acceptor.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/network/timed_socket.hpp"
#include "backends/posix/child.hpp"
#include "cli/agent/port_connections.hpp"
#include "cli/commands/commands.hpp"
#include "cli/completion/value_kind.hpp"
#include "cli/record/task_hosts.hpp"
#include "cli/supervisor/adoption.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

constexpr int last_port = 65'535;
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

/// A `train task exec` beside the rank, and the connections that go over its standard streams.
class RankStream final : private PortConnections::Observer {
 public:
  /// `place`: where the rank runs, and since when; `on_change`: there may be fewer connections.
  RankStream(Loop& loop, StartedChild child, Pipe input, Pipe output, std::string place,
             std::function<void()> on_change)
      : place_(std::move(place)),
        on_change_(std::move(on_change)),
        child_(std::move(child)),
        input_(std::move(input.write_end)),
        output_(std::move(output.read_end)),
        connections_(loop, output_.get(), input_.get(), std::nullopt, *this) {}
  // The host ends what runs beside the rank once the login has ended. Not waited for if it hangs.
  ~RankStream() override {
    ::kill(-child_.pid, SIGKILL);
    constexpr int patience_milliseconds = 1'000;
    if (has_ended(child_.pidfd, patience_milliseconds)) (void)reap(child_.pidfd.get(), Instant{});
  }
  RankStream(const RankStream&) = delete;
  RankStream& operator=(const RankStream&) = delete;

  void add(Descriptor socket) { connections_.add(std::move(socket)); }
  std::size_t connections() const { return connections_.size(); }
  /// Whether it is of use for a rank that runs there.
  bool leads_to(const std::string& place) const { return !is_over_ && place_ == place; }
  bool is_over() const { return is_over_; }

 private:
  void refused(const std::string& why) override { talk(terminal_text("{}", why)); }
  // If there is no error, the child has said why.
  void ended(const Result<void>& how) override {
    is_over_ = true;
    if (!how) talk(terminal_text(with_context(how.error(), "what answers beside the rank")));
  }
  void changed() override { on_change_(); }

  const std::string place_;
  const std::function<void()> on_change_;
  const StartedChild child_;
  const Descriptor input_;
  const Descriptor output_;
  bool is_over_ = false;
  PortConnections connections_;
};

std::vector<std::string> with_rank(std::vector<std::string> words, const ForwardFlags& flags) {
  const auto add = [&](const char* option, const std::optional<int>& value) {
    if (value) words.insert(words.end(), {option, std::to_string(*value)});
  };
  add("--rank", flags.rank);
  add("--trial", flags.trial);
  return words;
}

/// Connections from here to a port beside a rank. All go over one login; a new one begins when that
/// has ended, or when the rank runs elsewhere: after a restart the next connection finds it.
class Forwarding {
 public:
  Forwarding(const ForwardFlags& flags, SqliteTaskStore& store, const std::string& id,
             Descriptor listening)
      : flags_(flags),
        store_(store),
        id_(id),
        listening_(std::move(listening)),
        acceptor_(loop_, listening_.get(), [this](Descriptor from) { connect(std::move(from)); }) {
    command_ = with_rank({"train", "task", "exec", id, "--no-tty"}, flags);
    command_.insert(command_.end(), {"--", "train", "connect-port", std::to_string(flags.port)});
    signals_ = loop_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int number) {
      code_ = ExitCode(128 + number);
      loop_.stop();
    });
    look_later();
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;

  ExitCode run() {
    loop_.run();
    return code_;
  }

 private:
  // The attempt and the host of the rank. Empty if that cannot be read: `task exec` says why.
  std::string place() const {
    const auto task = store_.find(id_);
    if (!task) return {};
    const auto where = read_rank_host(store_, *task, flags_.trial, flags_.rank.value_or(0));
    return where ? fmt::format("{} {}", task->restarts, where->key) : std::string();
  }

  void connect(Descriptor from) {
    const std::string now = place();
    if (streams_.empty() || !streams_.back()->leads_to(now)) {
      if (const auto started = begin_stream(now); !started)
        return talk(terminal_text("a connection is refused: {}", in_one_line(started.error())));
    }
    streams_.back()->add(std::move(from));
    tidy();
  }

  Result<void> begin_stream(const std::string& place) {
    const std::string program = "/proc/self/exe", here = ".";
    const std::vector<std::string> environment = environment_texts();
    auto input = make_pipe();
    if (!input) return tl::make_unexpected(input.error());
    auto output = make_pipe();
    if (!output) return tl::make_unexpected(output.error());
    const Descriptor errors(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    ChildSetup setup(program, command_, environment, here);
    setup.standard[0] = input->read_end.get();
    setup.standard[1] = output->write_end.get();
    setup.standard[2] = errors.get();
    StartedChild child = start_child(setup);
    if (child.failed != ChildStep::none) return fail(ErrorClass::host, system_reason(child.error));
    streams_.push_back(std::make_unique<RankStream>(loop_, std::move(child), std::move(*input),
                                                    std::move(*output), place,
                                                    [this] { tidy_soon(); }));
    return {};
  }

  // Not from a callback of the stream that is removed.
  void tidy_soon() {
    if (std::exchange(is_tidying_, true)) return;
    loop_.post([this] { tidy(); });
  }

  // Only the newest stream is kept for connections to come.
  void tidy() {
    is_tidying_ = false;
    std::size_t connections = 0;
    std::erase_if(streams_, [&](const auto& stream) {
      connections += stream->connections();
      return stream->connections() == 0 && (stream->is_over() || stream != streams_.back());
    });
    if (connections >= PortTalk::most_connections)
      acceptor_.pause();
    else
      acceptor_.go_on();
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
  const ForwardFlags& flags_;
  SqliteTaskStore& store_;
  std::string id_;
  Descriptor listening_;
  std::vector<std::string> command_;
  std::list<std::unique_ptr<RankStream>> streams_;  ///< connections go over the last one
  bool is_tidying_ = false;
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
  // What runs beside the rank is of the build of train that launched the task.
  auto again = with_rank({"forward", task->id, std::to_string(flags.port)}, flags);
  if (flags.local) again.insert(again.end(), {"--local", std::to_string(*flags.local)});
  if (auto same = become_kept_program(**store, *task, again); !same)
    talk(terminal_text(same.error()));
  std::signal(SIGPIPE, SIG_IGN);
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
