// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/attempt_driver.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "backends/network/probe.hpp"
#include "launcher/agent/launch_values.hpp"

namespace train {

namespace {

// How often to report a file system call that has not returned yet.
constexpr std::chrono::seconds blocked_interval{2};
// How long to wait for a host check or the start of a rank that was under way when all ranks were
// killed.
constexpr std::chrono::seconds work_limit{5};

// The limit for an address when all addresses are waited for.
constexpr std::chrono::seconds thorough_probe_limit{6};

// Longer than a subreaper tries to kill its processes before it gives up.
constexpr std::chrono::seconds kill_limit{12};
// After `kill_limit`, when the subreaper itself had to be killed; longer than the agent then tries
// to kill the processes it left.
constexpr std::chrono::seconds cleaning_limit{8};

std::vector<Diagnostic> joined(std::vector<Diagnostic> first, const Diagnostic& last) {
  first.push_back(last);
  return first;
}

}  // namespace

AttemptDriver::AttemptDriver(const AttemptSurroundings& surroundings, AttemptId of, Events events)
    : loop_(surroundings.loop),
      surroundings_(surroundings),
      of_(of),
      events_(std::move(events)),
      subreaper_(loop_, surroundings.subreapers, subreaper_events()),
      stop_file_(loop_),
      work_(std::make_unique<Background>(loop_)),
      end_inquiry_(loop_),
      metrics_files_(
          loop_, surroundings.changes,
          [this](int rank, std::string_view bytes) {
            events_.on_event(agent_event::RankPrinted{rank, OutputStream::metrics, bytes, of_});
          }),
      usage_watch_(loop_,
                   [this](std::vector<UsageOfRank> ranks) {
                     events_.on_event(agent_event::RanksMeasured{
                         std::move(ranks), of_, gpus_ ? gpus_->uses() : std::vector<GpuUse>()});
                   }),
      inspection_(loop_),
      starter_(loop_, *work_, {of.trial, surroundings.open_files, surroundings.tools->path()},
               calls_, subreaper_.child_start(), starter_events()),
      memory_wait_(loop_, surroundings.means.ask_devices),
      prober_(loop_, Background::Idle::goes) {}

AttemptDriver::~AttemptDriver() { surroundings_.recorder->forget(of_); }

Subreaper::Events AttemptDriver::subreaper_events() {
  return {[this](int pid, const ExitStatus& status) { process_ended(pid, status); },
          [this](std::vector<Survivor> survivors) { all_gone(std::move(survivors)); }};
}

RankStarter::Events AttemptDriver::starter_events() {
  return {events_.command_of,
          [this](int rank, const SpawnedProcess& process) { rank_started(rank, process); },
          [this](int rank, const Error& why) { rank_not_started(rank, why); },
          [this] { settle_soon(); }};
}

void AttemptDriver::call_soon(std::function<void()> what) {
  loop_.post([what = std::move(what), existence = std::weak_ptr<int>(existence_)] {
    if (!existence.expired()) what();
  });
}

// Any of these calls may hang on a file system, so none is made on the loop.
void AttemptDriver::check_host(const message::Prepare& prepare) {
  const auto host = std::make_shared<CheckedHost>();
  const auto asked = std::make_shared<message::Prepare>(prepare);
  const auto check = [host, asked, directory = &surroundings_.directory, key = surroundings_.key,
                      means = surroundings_.means, recorder = surroundings_.recorder,
                      tools = surroundings_.tools, calls = calls_] {
    *host = train::check_host(*asked, *directory, key, means, *recorder, *tools, *calls);
  };
  // Without a responder no other host finds this one, and the launcher does without the result.
  if (prepare.wants_networks)
    if (auto opened = ProbeResponder::open(loop_)) responder_ = std::move(*opened);
  auto begun = subreaper_.start();
  if (!begun) survivors_.emplace();  // there is nothing to kill
  if (begun) begun = work_->run(check, [this, host, asked] { checked(host, asked); });
  if (!begun)
    return call_soon([this, problems = begun.error().diagnostics] {
      events_.on_event(agent_event::HostChecked{problems, {}, {}, ErrorClass::host, {}, of_});
    });
  gpu_wait_ = prepare.gpu_wait;
  if (prepare.looks_for_checkpoints) checkpoints_ = prepare.checkpoint_directory;
  for (const RankCommand& rank : prepare.ranks)
    working_directories_[rank.rank] = rank.working_directory;
  is_checking_ = true;
  report_blocked();
}

// Takes the leases last, in the order of the queue, after those that other trials release. The
// check of the host is over only when that is done.
void AttemptDriver::checked(const std::shared_ptr<CheckedHost>& host,
                            const std::shared_ptr<message::Prepare>& prepare) {
  const bool is_in_vain = subreaper_.was_killed() || is_killing_ || !host->told.problems.empty();
  if (is_in_vain || prepare->leases.wants.empty()) return report_checked(host);
  has_nvidia_gpus_ = !host->told.gpus.cuda.empty();
  surroundings_.leases.take(
      prepare, host->told.gpus,
      [this, host, existence = std::weak_ptr<int>(existence_)](const auto& blockers) {
        if (existence.expired() || !work_) return;
        const auto fail = [this, host](const Error& error) {
          host->told.problems = error.diagnostics;
          host->told.error_class = error.error_class;
          report_checked(host);
        };
        if (!blockers) return fail(blockers.error());
        host->told.blockers = *blockers;
        if (!blockers->empty()) return report_checked(host);
        await_memory([this, host, fail](const std::optional<Error>& still_in_use) {
          still_in_use ? fail(*still_in_use) : report_checked(host);
        });
      });
}

// Called once the leases are held, so that no other task fills the memory again.
void AttemptDriver::await_memory(GpuMemoryWait::Then then) {
  const bool is_over = subreaper_.was_killed() || is_killing_;
  if (is_over || !has_nvidia_gpus_ || gpu_wait_.limit <= milliseconds(0)) return then({});
  memory_wait_.begin(gpu_wait_, surroundings_.leases.whole_gpus_of(of_.trial, gpu_wait_.is_for_all),
                     std::move(then));
}

// If the subreaper has ended by itself, no rank can be started any more: that is reported together
// with the result of the check, once all processes it has left are gone.
void AttemptDriver::report_checked(const std::shared_ptr<CheckedHost>& host) {
  is_checking_ = false;
  const bool has_leftovers = subreaper_.was_killed() && !gone_;
  if (has_leftovers && !is_killing_) {
    checked_early_ = host;
    return;
  }
  if (gone_ && !is_killing_) fail_check(std::move(host->told.problems));
  if (gone_ || is_killing_) return settle_soon();
  if (responder_) host->told.networks.probe_port = responder_->port();
  if (responder_) host->told.networks.probe_token = responder_->token();
  run_directory_ = host->told.run_directory;
  ports_ = std::move(host->ports);
  newest_checkpoint_ = host->newest_checkpoint;
  end_inquiry_.count_from(std::move(host->memory_kills));
  const bool has_one_rank = working_directories_.size() == 1;
  if (has_one_rank) usage_watch_.count_cgroup(path_of_cgroup(host->cgroup));
  starter_.record_with(surroundings_.recorder, std::move(host->cgroup));
  host->told.of = of_;
  events_.on_event(host->told);
}

// Uses a thread of its own: a host that does not answer takes seconds.
void AttemptDriver::probe_hosts(const agent_action::ProbeHosts& asked) {
  const auto found = std::make_shared<std::vector<ProbeResult>>();
  const auto tell = [this, found] {
    events_.on_event(agent_event::HostsProbed{std::move(*found), of_});
  };
  ProbePatience patience;
  if (asked.is_thorough) patience = {.limit = thorough_probe_limit, .waits_for_all = true};
  const auto look = [found, targets = asked.targets, patience] {
    *found = probe(targets, patience);
  };
  if (const auto begun = prober_.run(look, tell); begun) return;
  for (const ProbeTarget& target : asked.targets)  // no thread could be started
    found->push_back({target.host, std::vector<ProbeAnswer>(target.addresses.size())});
  call_soon(tell);
}

// Does nothing once the attempt is gone: the result is not needed then.
void AttemptDriver::take_leases() {
  if (!work_) return;
  surroundings_.leases.retry_take(of_.trial, [this, existence = std::weak_ptr<int>(existence_)](
                                                 const auto& blockers) {
    if (existence.expired() || !work_) return;
    const auto tell = [this](std::vector<LeaseHolder> holders, std::vector<Diagnostic> problems) {
      events_.on_event(agent_event::LeasesTried{std::move(holders), std::move(problems), of_});
    };
    if (!blockers) return tell({}, blockers.error().diagnostics);
    if (!blockers->empty()) return tell(*blockers, {});
    await_memory([this, tell](const std::optional<Error>& still_in_use) {
      if (is_killing_) return;
      tell({}, still_in_use ? still_in_use->diagnostics : std::vector<Diagnostic>());
    });
  });
}

// The check or start that was under way is done; it may have been the last thing `settle` waits
// for.
void AttemptDriver::settle_soon() {
  if (gone_) call_soon([this] { settle(); });
}

// Repeats itself as long as the host is checked or ranks are started.
void AttemptDriver::report_blocked() {
  if (blocked_timer_) return;
  blocked_timer_ = loop_.after(blocked_interval, [this] {
    blocked_timer_.reset();
    if (!work_) return;
    starter_.report();
    const auto call = calls_->current();
    const nanoseconds so_far = call ? loop_.now() - call->since : nanoseconds(0);
    if (so_far >= blocked_interval)
      events_.on_event(
          agent_event::Blocked{call->text, std::chrono::floor<milliseconds>(so_far), false, of_});
    if (const auto& memory = memory_wait_.current())
      events_.on_event(agent_event::Blocked{
          memory->what, std::chrono::floor<milliseconds>(loop_.now() - memory->since), true, of_});
    if (is_checking_ || starter_.is_starting()) report_blocked();
  });
}

// The ports stay held until the end, which does no harm: rendezvous servers set SO_REUSEADDR and
// can listen beside the hold, and no other program gets the ports by chance. But from now on any
// program that sets the option can listen there, so the listeners are watched.
void AttemptDriver::release_ports() {
  responder_.reset();
  std::set<std::uint16_t> numbers;
  for (PortHold& port : ports_) {
    port.share();
    numbers.insert(port.port());
  }
  if (numbers.empty()) return;
  port_watch_.emplace(loop_, std::move(numbers), [this](const PortListener& other) {
    events_.on_event(agent_event::PortTaken{other.port, other.uid, of_});
  });
}

void AttemptDriver::start_rank(int rank) {
  starting_.insert(rank);
  if (survivors_) return call_soon([this] { fail_waiting_ranks(); });
  starter_.start(rank);
  report_blocked();
}

void AttemptDriver::watch_gpus() { gpus_ = surroundings_.gpus.reader(); }

// Of a rank that has ended, a heartbeat still counts. Both looks together take 7 s at most.
void AttemptDriver::look_at_ranks(bool wants_states) {
  std::map<int, std::string> heartbeats;
  for (const auto& [rank, worker] : workers_)
    heartbeats[rank] = run_directory_ + "/" + heartbeat_file_name(rank);
  inspection_.look_at_heartbeats(heartbeats, [this, wants_states](std::optional<milliseconds> age) {
    if (!wants_states) return events_.on_event(agent_event::RanksSeen{false, age, {}, of_});
    std::map<int, int> processes;
    for (const auto& [rank, worker] : workers_)
      if (!worker->ended()) processes[rank] = worker->pid();
    inspection_.look(processes, run_directory_, [this, age](std::vector<RankState> states) {
      events_.on_event(agent_event::RanksSeen{true, age, std::move(states), of_});
    });
  });
}

void AttemptDriver::rank_started(int rank, const SpawnedProcess& process) {
  starting_.erase(rank);
  Worker::Events events;
  events.on_output = [this, rank](OutputStream stream, std::string_view bytes) {
    events_.on_event(agent_event::RankPrinted{rank, stream, bytes, of_});
  };
  events.on_end = [this, rank](const ExitStatus& status) { rank_ended(rank, status); };
  workers_[rank] = std::make_unique<Worker>(loop_, process, std::move(events));
  if (is_reading_paused_) workers_[rank]->pause_reading();
  usage_watch_.watch(rank, process.pid);
  metrics_files_.watch(rank, run_directory_ + "/" + metrics_file_name(rank));
  call_soon([this, rank, pid = process.pid] {
    events_.on_event(agent_event::RankStarted{rank, pid, of_});
  });
  const auto early = early_ends_.extract(process.pid);
  if (early.empty()) return;
  ++ends_pending_;
  ending_.insert(rank);
  // Posted, because events, such as its last output, must not come from inside a call to this.
  call_soon([this, rank, status = early.mapped()] {
    ending_.erase(rank);
    workers_.at(rank)->end(status);
    --ends_pending_;
    finish_kill();
  });
}

void AttemptDriver::rank_not_started(int rank, const Error& why) {
  starting_.erase(rank);
  call_soon([this, rank, why] {
    events_.on_event(agent_event::RankNotStarted{rank, in_one_line(why), why.error_class, of_});
  });
}

// The end of a process may be reported before its start.
void AttemptDriver::process_ended(int pid, const ExitStatus& status) {
  const auto find = [&] {
    return std::find_if(workers_.begin(), workers_.end(), [pid](const auto& entry) {
      return entry.second->pid() == pid && !entry.second->ended();
    });
  };
  auto worker = find();
  if (worker == workers_.end() && work_) {
    starter_.report();
    worker = find();
  }
  if (worker == workers_.end())
    early_ends_[pid] = status;
  else
    worker->second->end(status);
}

// The rank's last metrics are reported first. The end is posted, because RankStarted may be posted
// and not delivered yet: a callback from a thread may overtake it, a post from here does not.
void AttemptDriver::rank_ended(int rank, const ExitStatus& status) {
  agent_event::RankEnded end{rank, status.code, status.signal, status.dumped_core, status.at,
                             {},   of_};
  end.usage = usage_watch_.end(rank, status);
  if (subreaper_.was_killed() && !is_killing_ && status.signal == SIGKILL)
    end.parent_end = subreaper_.how_it_ended();
  ++ends_pending_;
  metrics_files_.finish(rank, [this, end, status, is_killing = is_killing_] {
    call_soon([this, end, status, is_killing] {
      const bool is_vain = end.code == 0 && is_stopping_ && !checkpoints_.empty();
      if ((end.code == 0 && !is_vain) || survivors_) return report_end(end);
      look_into_end(end, {workers_.at(end.rank)->pid(), status, is_killing,
                          run_directory_ + "/" + error_file_name(end.rank),
                          working_directories_[end.rank], checkpoints_, newest_checkpoint_});
    });
  });
}

// For a rank that failed, or that was told to stop.
void AttemptDriver::look_into_end(const agent_event::RankEnded& told, const EndedRank& rank) {
  end_inquiry_.look(rank, [this, end = told](FoundAtEnd found) mutable {
    end.has_new_checkpoint = found.has_new_checkpoint;
    if (end.code == 0) return report_end(end);
    end.error_file = std::move(found.error_file);
    end.memory_kill = std::move(found.memory_kill);
    end.core = std::move(found.core);
    look_at_ports(end);
  });
}

// Checks whether another user has taken a port of the task: the launcher receives that before the
// end of the rank.
void AttemptDriver::look_at_ports(const agent_event::RankEnded& end) {
  if (!port_watch_) return report_end(end);
  port_watch_->look([this, end, existence = std::weak_ptr<int>(existence_)] {
    if (!existence.expired()) report_end(end);
  });
}

void AttemptDriver::report_end(const agent_event::RankEnded& end) {
  --ends_pending_;
  events_.on_event(end);
  finish_kill();
}

void AttemptDriver::make_stop_file() {
  const auto failed = [this, existence = std::weak_ptr<int>(existence_)](const std::string& why) {
    if (!existence.expired()) events_.on_event(agent_event::NoStopFile{why, of_});
  };
  stop_file_.make(surroundings_.directory, surroundings_.key, of_, failed);
}

// The rank may have ended by the time the stop file exists.
void AttemptDriver::terminate_rank(int rank, int signal) {
  is_stopping_ = true;
  stop_file_.then([this, rank, signal] {
    const auto worker = workers_.find(rank);
    if (worker != workers_.end() && !worker->second->ended())
      subreaper_.signal_rank(worker->second->pid(), signal);
  });
}

void AttemptDriver::kill_tree() {
  if (work_) starter_.report();
  is_killing_ = true;
  gpus_.reset();
  responder_.reset();
  starter_.forget_waiting();
  memory_wait_.give_up();
  if (survivors_) return call_soon([this] { finish_kill(); });
  if (gone_) return;  // the last starts are still being waited for; `settle` follows
  subreaper_.kill();
  kill_timer_ = loop_.after(kill_limit, [this] {
    subreaper_.kill_process();
    kill_timer_ = loop_.after(cleaning_limit, [this] { give_up_cleaning(); });
  });
}

// Even reading /proc for a process that is stuck in the kernel may never return.
void AttemptDriver::give_up_cleaning() {
  all_gone({{::getpid(), ::geteuid(), "the agent, looking for what its ranks have left"}});
}

// All processes of the attempt are gone. The thread beside the loop may still have the start of the
// last rank to report, or may still write in the run directory, where it would disturb another
// attempt; it is waited for up to `work_limit`, since a call may hang.
void AttemptDriver::all_gone(std::vector<Survivor> survivors) {
  if (gone_ || survivors_) return;  // came too late, after `give_up_cleaning`
  gone_ = std::move(survivors);
  kill_timer_.reset();
  memory_wait_.give_up();
  if (const auto host = std::exchange(checked_early_, nullptr)) return report_checked(host);
  if (!is_checking_ && !starter_.is_starting()) return settle();
  kill_timer_ = loop_.after(work_limit, [this] { settle(); });
}

// A check that may still write counts as a survivor.
void AttemptDriver::note_hanging_check() {
  if (!is_checking_ || !is_killing_) return;
  gone_->push_back({::getpid(), ::geteuid(), "the agent, in " + hanging_call()});
}

std::string AttemptDriver::hanging_call() const {
  const auto call = calls_->current();
  return call ? call->text : "the check of the host";
}

// The thread has nothing left to do, or was not waited for any longer.
void AttemptDriver::settle() {
  if (!gone_) return;
  note_hanging_check();
  survivors_ = *std::exchange(gone_, std::nullopt);
  kill_timer_.reset();
  blocked_timer_.reset();
  starter_.report();
  starter_.forget_waiting();
  work_.reset();
  for (const auto& [rank, worker] : workers_) worker->drain();
  end_lost_ranks();
  if (!is_killing_) fail_waiting_ranks();
  finish_kill();
}

// A subreaper may be killed after it has reaped a rank and before it has reported the end.
void AttemptDriver::end_lost_ranks() {
  for (const auto& [rank, worker] : workers_) {
    const bool survives =
        std::any_of(survivors_->begin(), survivors_->end(),
                    [pid = worker->pid()](const Survivor& each) { return each.pid == pid; });
    if (!survives && !worker->ended() && !ending_.contains(rank))
      worker->end({.code = {}, .signal = SIGKILL, .at = loop_.now()});
  }
}

// The subreaper, which would have started these ranks, was killed.
void AttemptDriver::fail_waiting_ranks() {
  for (const int rank : std::set<int>(starting_))
    rank_not_started(rank, Error{ErrorClass::host, {end_of_subreaper()}});
  if (!std::exchange(is_checking_, false)) return;
  fail_check(
      {{{}, {}, "its check does not end, and may still write there: " + hanging_call(), {}}});
}

// Includes the problems that the check has found, which may be the cause.
void AttemptDriver::fail_check(std::vector<Diagnostic> problems) {
  events_.on_event(agent_event::HostChecked{
      joined(std::move(problems), end_of_subreaper()), {}, {}, ErrorClass::host, {}, of_});
}

Diagnostic AttemptDriver::end_of_subreaper() const {
  return {{}, {}, "the process that ranks are started from " + subreaper_.how_it_ended(), {}};
}

void AttemptDriver::finish_kill() {
  if (!is_killing_ || !survivors_ || ends_pending_ > 0) return;
  is_killing_ = false;
  // Survivors may print for ever; their output is not waited for.
  for (const auto& [rank, worker] : workers_) worker->close_pipes();
  metrics_files_.forget_all();
  agent_event::TreeKilled killed{{}, of_};
  for (const Survivor& survivor : *survivors_)
    killed.survivors.push_back({survivor.pid, survivor.uid, survivor.command});
  call_soon([this, killed] { events_.on_event(killed); });
}

void AttemptDriver::pause_reading() {
  is_reading_paused_ = true;
  for (const auto& [rank, worker] : workers_) worker->pause_reading();
  metrics_files_.pause();
}

void AttemptDriver::resume_reading() {
  is_reading_paused_ = false;
  for (const auto& [rank, worker] : workers_) worker->resume_reading();
  metrics_files_.resume();
}

}  // namespace train
