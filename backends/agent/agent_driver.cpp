// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/agent_driver.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "backends/agent/fence.hpp"
#include "backends/observe/last_words.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/process/process_tree.hpp"

namespace train {

namespace {

constexpr int exit_code_of_a_bug = 70;
constexpr std::chrono::seconds first_connection_limit{30};
// Housekeeping starts this long after the ranks, so that it does not compete with their start for
// the processors; a task that is shorter does without it.
constexpr std::chrono::seconds start_time{1};

AgentIdentity identity() {
  return {first_line_of("/proc/sys/kernel/hostname"), boot_id(), ::getpid(), ::geteuid()};
}

}  // namespace

AgentDriver::AgentDriver(int listening_socket, const HostDirectory& directory,
                         const std::string& key, const AgentMeans& means)
    : means_(means),
      contexts_(means.make_contexts ? means.make_contexts(loop_) : nullptr),
      agent_(identity()),
      deadline_(loop_, [this] { feed(agent_event::Tick{}); }),
      leases_(loop_, key, means),
      changes_(loop_),
      subreapers_(loop_),
      gpus_(loop_, means.start_gpu_watch),
      surroundings_{loop_,
                    directory,
                    key,
                    means,
                    raise_open_files_limit(),
                    std::make_shared<AgentRecorder>(),
                    std::make_shared<ReportTools>(directory, key),
                    leases_,
                    changes_,
                    subreapers_,
                    gpus_},
      spool_(loop_, directory,
             [this](SpoolAnswer answer) { feed(agent_event::Spooled{std::move(answer)}); }),
      links_(loop_, listening_socket,
             {[this](LinkId link, const Frame& frame) { return received(link, frame); },
              [this](LinkId link) {
                report_uncaught_exceptions(links_.used_socket());
                feed(agent_event::LinkDown{link});
              }}) {}

int AgentDriver::run() {
  (void)become_subreaper();  // if the kernel refuses, the guard is still one
  // These signals come when the guard has died or the machine shuts down.
  signals_ = loop_.on_signals({SIGTERM, SIGINT, SIGHUP}, [this](int) { told_to_end(); });
  nobody_came_ = loop_.after(first_connection_limit, [this] { loop_.stop(); });
  return run_to_the_end();
}

void AgentDriver::told_to_end() {
  const nanoseconds patience = surroundings_.means.signal_patience;
  if (patience == nanoseconds(0)) return feed(agent_event::Dismissed{});
  if (!end_) end_ = loop_.after(patience, [this] { feed(agent_event::Dismissed{}); });
}

// An uncaught exception ends the task, not the process: the supervisor receives the reason, and the
// ranks are stopped as after a Stop message. After a second exception this process cannot be relied
// on any more; it ends, and the guard cleans up.
int AgentDriver::run_to_the_end() {
  try {
    loop_.run();
    leases_.drop_all();
    return 0;
  } catch (...) {
    memory_reserve_.reset();
    failure_ = reason_of_current_exception();
  }
  try {
    loop_.post([this] { feed(agent_event::Failed{failure_}); });
    loop_.run();
    leases_.drop_all();
    return 0;
  } catch (...) {
    report_fatal_error(failure_ + "; then " + reason_of_current_exception());
    return exit_code_of_a_bug;
  }
}

// Returns false, which ends the connection, for a frame that our supervisor never sends: then
// nothing that came over this connection can be trusted.
bool AgentDriver::received(LinkId link, const Frame& frame) {
  if (frame.kind == FrameKind::context) {
    feed(agent_event::ContextReceived{link, std::string(frame.payload)});
    return true;
  }
  if (frame.kind != FrameKind::control) return false;
  auto message = decode_message(frame.payload);
  if (!message) return false;
  feed(agent_event::Received{link, std::move(*message)});
  return true;
}

void AgentDriver::feed(const AgentEvent& event) {
  for (const AgentAction& action : agent_.on(event, loop_.now()))
    std::visit([this](const auto& a) { perform(a); }, action);
  deadline_.set(agent_.next_deadline());
}

void AgentDriver::perform(const agent_action::UseLink& action) {
  nobody_came_.reset();
  links_.use(action.link);
  report_uncaught_exceptions(links_.used_socket());
}

void AgentDriver::perform(const agent_action::SetFence& action) {
  if (means_.fence != nullptr) means_.fence->set(action.at);
}

void AgentDriver::perform(const agent_action::CloseLink& action) {
  links_.close(action.link, action.last_word ? frame_of(*action.last_word) : std::string());
  report_uncaught_exceptions(links_.used_socket());
}

void AgentDriver::perform(const agent_action::SendMessage& action) {
  links_.send(frame_of(action.message));
}

void AgentDriver::perform(const agent_action::SendOutput& action) {
  links_.send(encode_frame(FrameKind::output, encode_output(*action.chunk, action.packing)));
}

void AgentDriver::perform(const agent_action::Spool& action) { spool_.perform(action.work); }

void AgentDriver::perform(const agent_action::FindContext& action) {
  if (!contexts_)
    return loop_.post([this] {
      feed(
          agent_event::ContextFailed{make_error(ErrorClass::host, "this agent keeps no contexts")});
    });
  ContextEvents events;
  events.on_taken = [this](std::uint64_t bytes) { feed(agent_event::ContextTaken{bytes}); };
  events.on_ready = [this](const std::string& directory) {
    feed(agent_event::ContextReady{directory});
  };
  events.on_failed = [this](const Error& why) { feed(agent_event::ContextFailed{why}); };
  contexts_->find(action.context, std::move(events));
}

void AgentDriver::perform(const agent_action::TakeContext& action) {
  contexts_->take(action.bytes);
}

AttemptDriver* AgentDriver::find(AttemptId of) const {
  const auto found = attempts_.find(of);
  return found == attempts_.end() ? nullptr : found->second.get();
}

void AgentDriver::perform(const agent_action::CheckHost& action) {
  auto& attempt = attempts_[action.of];
  attempt = std::make_unique<AttemptDriver>(
      surroundings_, action.of,
      AttemptDriver::Events{
          [this, of = action.of](int rank) { return agent_.command_of(of, rank); },
          [this](const AgentEvent& event) { feed(event); }});
  attempt->check_host(action.prepare);
}

void AgentDriver::perform(const agent_action::ReleasePorts& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->release_ports();
  keep_context();
}

void AgentDriver::keep_context() {
  if (!contexts_ || housekeeping_) return;
  contexts_->keep();
  housekeeping_ = loop_.after(start_time, [this] { contexts_->tidy(); });
}

void AgentDriver::perform(const agent_action::ProbeHosts& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->probe_hosts(action);
}

void AgentDriver::perform(const agent_action::TakeLeases& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->take_leases();
}

void AgentDriver::perform(const agent_action::DropLeases& action) { leases_.drop(action.of.trial); }

void AgentDriver::perform(const agent_action::EndLeases& action) { leases_.end(action.trial); }

void AgentDriver::perform(const agent_action::ConfirmLeases& action) {
  leases_.confirm(action.of.trial);
  if (!lease_timer_) touch_leases();
}

// Cleaners remove files in /tmp only after days, so a failed touch is made up for by the next one.
// Holder files may be removed at any time, so each round also restores them.
void AgentDriver::touch_leases() {
  constexpr std::chrono::minutes interval{10};
  lease_timer_ = loop_.after(interval, [this] {
    leases_.touch();
    touch_leases();
  });
}

void AgentDriver::perform(const agent_action::StartRank& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->start_rank(action.rank);
}

void AgentDriver::perform(const agent_action::WatchGpus& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->watch_gpus();
}

void AgentDriver::perform(const agent_action::LookAtRanks& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->look_at_ranks(action.wants_states);
}

void AgentDriver::perform(const agent_action::MakeStopFile& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->make_stop_file();
}

void AgentDriver::perform(const agent_action::TerminateRank& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->terminate_rank(action.rank, action.signal);
}

void AgentDriver::perform(const agent_action::KillTree& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->kill_tree();
}

void AgentDriver::perform(const agent_action::ForgetAttempt& action) { attempts_.erase(action.of); }

void AgentDriver::perform(const agent_action::PauseReading& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->pause_reading();
}

void AgentDriver::perform(const agent_action::ResumeReading& action) {
  if (AttemptDriver* attempt = find(action.of)) attempt->resume_reading();
}

void AgentDriver::perform(const agent_action::Leave&) { loop_.stop(); }

}  // namespace train
