// SPDX-License-Identifier: Apache-2.0
#include "backends/process/agent_process.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <set>

#include "backends/event_loop/loop.hpp"
#include "backends/process/launcher_connection.hpp"
#include "backends/process/open_files.hpp"
#include "backends/process/port_hold.hpp"
#include "backends/process/proc.hpp"
#include "backends/process/process_tree.hpp"
#include "backends/process/rank_process.hpp"
#include "backends/process/spawner.hpp"
#include "backends/process/worker.hpp"
#include "launcher/agent/agent.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds kill_limit{5};
constexpr std::size_t longest_error_file = 64u << 10;
// How long to leave waiting connections alone when there is no descriptor for them.
constexpr std::chrono::seconds accept_pause{1};

std::string first_line_of(const std::string& path) {
  std::string text = read_small_file(path);
  return text.substr(0, text.find('\n'));
}

AgentIdentity identity() {
  return {first_line_of("/proc/sys/kernel/hostname"),
          first_line_of("/proc/sys/kernel/random/boot_id"), ::getpid()};
}

class AgentProcess {
 public:
  AgentProcess(int listening_socket, const HostDirectory& directory, std::string key,
               const MakeContextStore& make_contexts)
      : listening_(listening_socket),
        directory_(directory),
        key_(std::move(key)),
        contexts_(make_contexts ? make_contexts(loop_) : nullptr),
        agent_(identity()),
        spawner_(raise_open_files_limit()) {}

  int run() {
    (void)become_subreaper();  // where the kernel refuses, the guard is one
    await_connections();
    // The guard's death, or a shutdown of the machine, is the end of the launcher for the agent.
    signals_ =
        loop_.on_signals({SIGTERM, SIGINT, SIGHUP}, [this](int) { feed(agent_event::LinkDown{}); });
    orphans_ = loop_.on_signals({SIGCHLD}, [this](int) { reap_orphans(worker_pids()); });
    nobody_came_ = loop_.after(first_connection_limit, [this] { loop_.stop(); });
    loop_.run();
    return 0;
  }

 private:
  static constexpr std::chrono::seconds first_connection_limit{30};

  void await_connections();
  void accept();
  bool received(const Frame& frame);
  void feed(const AgentEvent& event);
  void perform(const agent_action::SendMessage& action);
  void perform(const agent_action::SendOutput& action);
  void perform(const agent_action::FindContext& action);
  void perform(const agent_action::TakeContext& action);
  void perform(const agent_action::CheckHost& action);
  void perform(const agent_action::StartRank& action);
  void perform(const agent_action::ReleasePorts& action);
  void perform(const agent_action::TerminateRank& action);
  void perform(const agent_action::KillTree& action);
  void perform(const agent_action::PauseReading& action);
  void perform(const agent_action::ResumeReading& action);
  void perform(const agent_action::Leave& action);

  void soon(AgentEvent event);
  void send(std::string bytes);
  std::vector<Diagnostic> problems_of(const message::Prepare& prepare) const;
  void rank_ended(int rank, const ExitStatus& status);
  void finish_kill();
  bool any_worker_alive() const;
  std::set<int> worker_pids() const;
  void arm_timer();

  Descriptor listening_;
  const HostDirectory& directory_;
  std::string key_;
  Loop loop_;
  std::unique_ptr<ContextStore> contexts_;
  Agent agent_;
  LinuxSpawner spawner_;
  std::vector<PortHold> ports_;
  std::string run_directory_;
  std::map<int, std::unique_ptr<Worker>> workers_;  ///< by rank
  std::unique_ptr<LauncherConnection> connection_;
  std::unique_ptr<Subscription> accepting_;
  std::unique_ptr<Subscription> accept_pause_;
  std::unique_ptr<Subscription> signals_;
  std::unique_ptr<Subscription> orphans_;
  std::unique_ptr<Subscription> nobody_came_;
  std::unique_ptr<Subscription> timer_;
  std::unique_ptr<Subscription> kill_timer_;
  bool killing_ = false;
};

void AgentProcess::await_connections() {
  accepting_ = loop_.when_readable(listening_.get(), [this] { accept(); });
}

void AgentProcess::accept() {
  Descriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
    // The connection stays in the queue, and would wake this process up without end.
    accepting_.reset();
    accept_pause_ = loop_.after(accept_pause, [this] { await_connections(); });
  }
  if (!socket) return;
  // One launcher at a time: a second connection is closed at once.
  if (connection_) return;
  nobody_came_.reset();
  connection_ = std::make_unique<LauncherConnection>(
      loop_, std::move(socket),
      LauncherConnection::Events{[this](const Frame& frame) { return received(frame); },
                                 [this] { feed(agent_event::LinkDown{}); }});
  feed(agent_event::LinkUp{});
}

// What no launcher of ours would send ends the connection: nothing of it can be trusted.
bool AgentProcess::received(const Frame& frame) {
  if (frame.kind == FrameKind::context) {
    feed(agent_event::ContextReceived{std::string(frame.payload)});
    return true;
  }
  if (frame.kind != FrameKind::control) return false;
  auto message = decode_message(frame.payload);
  if (!message) return false;
  feed(agent_event::Received{std::move(*message)});
  return true;
}

void AgentProcess::feed(const AgentEvent& event) {
  for (const AgentAction& action : agent_.on(event, loop_.now()))
    std::visit([this](const auto& a) { perform(a); }, action);
  arm_timer();
}

// Answers to actions come as events of their own: the agent is never entered twice.
void AgentProcess::soon(AgentEvent event) {
  loop_.post([this, event = std::move(event)] { feed(event); });
}

void AgentProcess::arm_timer() {
  timer_.reset();
  const auto deadline = agent_.next_deadline();
  if (!deadline) return;
  timer_ = loop_.after(std::max(*deadline - loop_.now(), nanoseconds(0)),
                       [this] { feed(agent_event::Tick{}); });
}

void AgentProcess::send(std::string bytes) {
  if (connection_) connection_->send(std::move(bytes));
}

void AgentProcess::perform(const agent_action::SendMessage& action) {
  send(frame_of(action.message));
}

void AgentProcess::perform(const agent_action::SendOutput& action) {
  send(encode_frame(FrameKind::output, encode_output(action.chunk, action.packing)));
}

void AgentProcess::perform(const agent_action::FindContext& action) {
  if (!contexts_)
    return soon(
        agent_event::ContextFailed{make_error(ErrorClass::host, "this agent keeps no contexts")});
  ContextEvents events;
  events.on_taken = [this](std::uint64_t bytes) { feed(agent_event::ContextTaken{bytes}); };
  events.on_ready = [this](const std::string& directory) {
    feed(agent_event::ContextReady{directory});
  };
  events.on_failed = [this](const Error& why) { feed(agent_event::ContextFailed{why}); };
  contexts_->find(action.context, std::move(events));
}

void AgentProcess::perform(const agent_action::TakeContext& action) {
  contexts_->take(action.bytes);
}

// The same trouble of many ranks is said once.
std::vector<Diagnostic> AgentProcess::problems_of(const message::Prepare& prepare) const {
  std::vector<Diagnostic> problems;
  for (const RankCommand& command : prepare.ranks) {
    const auto spec = process_of_rank(command);
    if (spec) continue;
    for (const Diagnostic& problem : spec.error().diagnostics)
      if (std::find(problems.begin(), problems.end(), problem) == problems.end())
        problems.push_back(problem);
  }
  return problems;
}

void AgentProcess::perform(const agent_action::CheckHost& action) {
  agent_event::HostChecked checked;
  checked.problems = problems_of(action.prepare);
  const auto add = [&](const Error& error) {
    checked.problems.insert(checked.problems.end(), error.diagnostics.begin(),
                            error.diagnostics.end());
  };
  if (auto made = directory_.make_run_directory(key_))
    checked.run_directory = run_directory_ = *made;
  else
    add(made.error());
  for (const RunFile& file : action.prepare.files)
    if (auto written = directory_.write_file(key_, file.name, file.text); !written)
      add(written.error());
  auto ports = PortHold::take(action.prepare.hold_ports);
  if (!ports) add(ports.error());
  if (ports) ports_ = std::move(*ports);
  for (const PortHold& port : ports_) checked.held_ports.push_back(port.port());
  soon(std::move(checked));
}

void AgentProcess::perform(const agent_action::StartRank& action) {
  const int rank = action.rank;
  const auto spec = process_of_rank(agent_.command_of(rank));
  const auto process =
      spec ? spawner_.spawn(*spec) : Result<SpawnedProcess>(tl::make_unexpected(spec.error()));
  if (!process) return soon(agent_event::RankNotStarted{rank, in_one_line(process.error())});
  Worker::Events events;
  events.on_output = [this, rank](OutputStream stream, std::string_view bytes) {
    feed(agent_event::RankPrinted{rank, stream, bytes});
  };
  events.on_end = [this, rank](const ExitStatus& status) { rank_ended(rank, status); };
  workers_[rank] = std::make_unique<Worker>(loop_, *process, std::move(events));
  soon(agent_event::RankStarted{rank, process->pid});
}

void AgentProcess::rank_ended(int rank, const ExitStatus& status) {
  const std::string error_file = fmt::format("{}/error-{}.json", run_directory_, rank);
  // The announcement of the start may still be posted; this comes after it.
  soon(agent_event::RankEnded{
      rank, status.code, status.signal, status.dumped_core, status.at,
      status.code == 0 ? std::string() : read_small_file(error_file, longest_error_file)});
  if (killing_ && !any_worker_alive()) loop_.post([this] { finish_kill(); });
}

// The ports stay held until the end where nothing is lost by it: rendezvous servers set
// SO_REUSEADDR and can listen beside the hold, and nobody else gets the ports in between.
void AgentProcess::perform(const agent_action::ReleasePorts&) {
  if (!contexts_) return;
  contexts_->keep();
  loop_.post([this] { contexts_->tidy(); });  // when the ranks run
}

void AgentProcess::perform(const agent_action::TerminateRank& action) {
  const auto worker = workers_.find(action.rank);
  if (worker != workers_.end() && !worker->second->ended())
    signal_group(worker->second->pid(), SIGTERM);
}

bool AgentProcess::any_worker_alive() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& entry) { return !entry.second->ended(); });
}

std::set<int> AgentProcess::worker_pids() const {
  std::set<int> pids;
  for (const auto& [rank, worker] : workers_)
    if (!worker->ended()) pids.insert(worker->pid());
  return pids;
}

// First everything gets the signal, then the workers' ends are collected as usual, then what their
// deaths left to this subreaper is hunted down.
void AgentProcess::perform(const agent_action::KillTree&) {
  killing_ = true;
  kill_descendants({}, SIGKILL);
  if (!any_worker_alive()) return loop_.post([this] { finish_kill(); });
  // A worker may be stuck in the kernel (a dead NFS server, a sick driver).
  kill_timer_ = loop_.after(kill_limit, [this] { finish_kill(); });
}

void AgentProcess::finish_kill() {
  if (!std::exchange(killing_, false)) return;
  kill_timer_.reset();
  orphans_.reset();
  agent_event::TreeKilled killed;
  for (const Survivor& survivor : kill_all_descendants(kill_limit))
    killed.survivors.push_back({survivor.pid, survivor.uid, survivor.command});
  for (const auto& [rank, worker] : workers_) {
    worker->collect();  // one that took longer than the limit may just have ended
    worker->drain();
  }
  soon(std::move(killed));
}

void AgentProcess::perform(const agent_action::PauseReading&) {
  for (const auto& [rank, worker] : workers_) worker->pause_reading();
}

void AgentProcess::perform(const agent_action::ResumeReading&) {
  for (const auto& [rank, worker] : workers_) worker->resume_reading();
}

void AgentProcess::perform(const agent_action::Leave&) { loop_.stop(); }

}  // namespace

int run_agent_process(int listening_socket, const HostDirectory& directory, const std::string& key,
                      const MakeContextStore& make_contexts) {
  return AgentProcess(listening_socket, directory, key, make_contexts).run();
}

}  // namespace train
