// SPDX-License-Identifier: Apache-2.0
#include "backends/process/agent_driver.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/process/last_words.hpp"
#include "backends/process/process_tree.hpp"

namespace train {

namespace {

constexpr int exit_code_of_a_bug = 70;
constexpr std::chrono::seconds first_connection_limit{30};
// How often to say what a file system has not answered yet.
constexpr std::chrono::seconds blocked_interval{2};
// What tidies up leaves the processors to the ranks for so long, and to short tasks altogether.
constexpr std::chrono::seconds start_time{1};

std::string first_line_of(const std::string& path) {
  std::string text = read_small_file(path);
  return text.substr(0, text.find('\n'));
}

AgentIdentity identity() {
  return {first_line_of("/proc/sys/kernel/hostname"), boot_id(), ::getpid()};
}

}  // namespace

AgentDriver::AgentDriver(int listening_socket, const HostDirectory& directory, std::string key,
                         const AgentMeans& means)
    : directory_(directory),
      key_(std::move(key)),
      means_(means),
      contexts_(means.make_contexts ? means.make_contexts(loop_) : nullptr),
      agent_(identity()),
      work_(loop_),
      error_files_(loop_),
      starter_(loop_, work_, raise_open_files_limit(), calls_, starter_events()),
      links_(loop_, listening_socket,
             {[this](LinkId link, const Frame& frame) { return received(link, frame); },
              [this](LinkId link) {
                tell_uncaught_exceptions(links_.used_socket());
                feed(agent_event::LinkDown{link});
              }}) {}

int AgentDriver::run() {
  (void)become_subreaper();  // where the kernel refuses, the guard is one
  // The guard has died, or the machine shuts down.
  signals_ =
      loop_.on_signals({SIGTERM, SIGINT, SIGHUP}, [this](int) { feed(agent_event::Dismissed{}); });
  orphans_ = loop_.on_signals({SIGCHLD}, [this](int) {
    are_orphans_due_ = true;
    collect_orphans();
  });
  nobody_came_ = loop_.after(first_connection_limit, [this] { loop_.stop(); });
  return run_to_the_end();
}

// An exception that nobody caught ends the task and not the process: the launcher is told why, and
// the ranks are stopped as if a Stop had come. After a second one this process cannot be relied on
// any more; it ends, and the guard cleans up.
int AgentDriver::run_to_the_end() {
  try {
    loop_.run();
    return 0;
  } catch (...) {
    memory_reserve_.reset();
    failure_ = reason_of_current_exception();
  }
  try {
    loop_.post([this] { feed(agent_event::Failed{failure_}); });
    loop_.run();
    return 0;
  } catch (...) {
    say_last_words(failure_ + "; then " + reason_of_current_exception());
    return exit_code_of_a_bug;
  }
}

// Ends the connection when our launcher would never send such a frame: nothing that came over it
// can be trusted.
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
  arm_timer();
}

// Answers to actions come as events of their own: the agent is never entered twice.
void AgentDriver::feed_soon(AgentEvent event) {
  loop_.post([this, event = std::move(event)] { feed(event); });
}

void AgentDriver::arm_timer() {
  timer_.reset();
  const auto deadline = agent_.next_deadline();
  if (!deadline) return;
  timer_ = loop_.after(std::max(*deadline - loop_.now(), nanoseconds(0)),
                       [this] { feed(agent_event::Tick{}); });
}

void AgentDriver::perform(const agent_action::UseLink& action) {
  nobody_came_.reset();
  links_.use(action.link);
  tell_uncaught_exceptions(links_.used_socket());
}

void AgentDriver::perform(const agent_action::SetFence& action) {
  if (means_.fence != nullptr) means_.fence->set(action.at);
}

void AgentDriver::perform(const agent_action::CloseLink& action) {
  links_.close(action.link);
  tell_uncaught_exceptions(links_.used_socket());
}

void AgentDriver::perform(const agent_action::SendMessage& action) {
  links_.send(frame_of(action.message));
}

void AgentDriver::perform(const agent_action::SendOutput& action) {
  links_.send(encode_frame(FrameKind::output, encode_output(*action.chunk, action.packing)));
}

void AgentDriver::perform(const agent_action::FindContext& action) {
  if (!contexts_)
    return feed_soon(
        agent_event::ContextFailed{make_error(ErrorClass::host, "this agent keeps no contexts")});
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

// Any of these calls may hang on a file system, so none is made on the loop.
void AgentDriver::perform(const agent_action::CheckHost& action) {
  const auto host = std::make_shared<CheckedHost>();
  const auto prepare = std::make_shared<message::Prepare>(action.prepare);
  const auto check = [host, prepare, directory = &directory_, key = key_, means = means_,
                      calls = calls_] {
    *host = check_host(*prepare, *directory, key, means, *calls);
  };
  if (auto begun = work_.run(check, [this, host] { checked(*host); }); !begun)
    return feed_soon(agent_event::HostChecked{begun.error().diagnostics, {}, {}, ErrorClass::host});
  is_checking_ = true;
  tell_blocked();
}

void AgentDriver::checked(CheckedHost& host) {
  is_checking_ = false;
  run_directory_ = host.told.run_directory;
  ports_ = std::move(host.ports);
  starter_.record_with(std::move(host.recorder));
  feed(host.told);
}

// Called again and again as long as the host is checked or ranks are started.
void AgentDriver::tell_blocked() {
  if (blocked_timer_) return;
  blocked_timer_ = loop_.after(blocked_interval, [this] {
    blocked_timer_.reset();
    starter_.tell();
    const auto call = calls_->current();
    const nanoseconds so_far = call ? loop_.now() - call->since : nanoseconds(0);
    if (so_far >= blocked_interval)
      feed(agent_event::Blocked{call->text, std::chrono::floor<milliseconds>(so_far)});
    if (is_checking_ || starter_.is_starting()) tell_blocked();
  });
}

// The ports stay held until the end where that does no harm: rendezvous servers set SO_REUSEADDR
// and can listen beside the hold, and nobody else gets the ports by chance. But from now on any
// program that sets the option can listen there, so it is watched who does.
void AgentDriver::perform(const agent_action::ReleasePorts&) {
  std::set<std::uint16_t> numbers;
  for (PortHold& port : ports_) {
    port.share();
    numbers.insert(port.port());
  }
  if (!numbers.empty())
    port_watch_.emplace(loop_, std::move(numbers), [this](const PortListener& other) {
      feed(agent_event::PortTaken{other.port, other.uid});
    });
  if (!contexts_) return;
  contexts_->keep();
  housekeeping_ = loop_.after(start_time, [this] { contexts_->tidy(); });
}

void AgentDriver::perform(const agent_action::Leave&) { loop_.stop(); }

}  // namespace train
