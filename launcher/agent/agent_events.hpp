// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/agent/cpu_binding.hpp"
#include "launcher/agent/gpu_use.hpp"
#include "launcher/agent/spool.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/wire/message.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// A stream from a supervisor: a number that is never reused.
using LinkId = int;

/// What happens to an agent. Instants are on the agent's own clock. Events that concern one attempt
/// name it.
namespace agent_event {
/// A stream from a supervisor has ended: the supervisor left or died, or the connection broke. Not
/// sent for a stream that the agent or its driver has closed.
struct LinkDown {
  LinkId link = 0;
};
/// The first message on a link is an Attach, or the link is closed.
struct Received {
  LinkId link = 0;
  Message message;
};
/// The guard is gone, or the machine shuts down: the ranks are stopped, and the agent leaves. A
/// second Dismissed ends all waiting.
struct Dismissed {};
/// The host lacks the context, and has taken this many bytes of it so far; first 0.
struct ContextTaken {
  std::uint64_t bytes = 0;
};
/// A piece of the context has arrived.
struct ContextReceived {
  LinkId link = 0;
  std::string bytes;
};
/// A copy of the context is ready, for this task alone: all its attempts use it.
struct ContextReady {
  std::string directory;  ///< absolute
};
struct ContextFailed {
  Error why;
};
/// Result of CheckHost: nothing wrong, or the problems.
struct HostChecked {
  std::vector<Diagnostic> problems = {};
  std::vector<int> held_ports = {};
  std::string run_directory = {};
  /// Class of the problems: `missing`, or `host` if the host itself is in trouble.
  ErrorClass error_class = ErrorClass::missing;
  HostGpus gpus = {};
  AttemptId of = {};
  std::string checkpoint_mark = {};        ///< as in message::Ready
  bool ends_with_login = false;            ///< likewise
  std::vector<LeaseHolder> blockers = {};  ///< as in message::Leases
  HostNetworks networks = {};              ///< if they were asked for
  CpuTopology cpus = {};                   ///< if ranks are to be bound
};
/// Result of ProbeHosts.
struct HostsProbed {
  std::vector<ProbeResult> results = {};
  AttemptId of = {};
};
/// Result of TakeLeases: all leases are held, another holder is in the way, or leases cannot be
/// held on this host.
struct LeasesTried {
  std::vector<LeaseHolder> blockers = {};
  std::vector<Diagnostic> problems = {};
  AttemptId of = {};
};
struct RankStarted {
  int rank = 0;
  std::int64_t pid = 0;
  AttemptId of = {};
};
struct RankNotStarted {
  int rank = 0;
  std::string reason;
  ErrorClass error_class = ErrorClass::missing;
  AttemptId of = {};
};
/// A call of CheckHost or StartRank has not returned yet, or the memory of GPUs is not free yet;
/// repeated while it lasts.
struct Blocked {
  std::string what;
  milliseconds so_far{0};
  bool is_gpu_memory = false;
  AttemptId of = {};
};
/// The stop file could not be made.
struct NoStopFile {
  std::string reason;
  AttemptId of = {};
};
/// Another user listens on a port that is held.
struct PortTaken {
  int port = 0;
  std::int64_t uid = 0;
  AttemptId of = {};
};
/// An unexpected exception came while actions were carried out: some of them may not have been
/// carried out.
struct Failed {
  std::string reason;
};
struct RankPrinted {
  int rank = 0;
  OutputStream stream = OutputStream::out;
  std::string_view bytes;  ///< valid during the call
  AttemptId of = {};
};
/// The process of a rank has ended, and all output that it had printed by then has been read.
struct RankEnded {
  int rank = 0;
  std::optional<int> code;
  std::optional<int> signal;
  bool dumped_core = false;
  Instant at{0};
  std::string error_file;
  AttemptId of = {};
  std::optional<message::MemoryKill> memory_kill = {};
  std::string core = {};  ///< as in message::RankEnded
  std::optional<RankUsage> usage = {};
  std::string parent_end = {};                  ///< likewise
  std::optional<bool> has_new_checkpoint = {};  ///< likewise
};
/// What running ranks use now, and what the GPUs of the host do; empty: not known.
struct RanksMeasured {
  std::vector<UsageOfRank> ranks;
  AttemptId of = {};
  std::vector<GpuUse> gpus = {};
};
/// The answer to LookAtRanks.
struct RanksSeen {
  bool has_states = false;
  std::optional<milliseconds> touched = {};
  std::vector<RankState> states = {};
  AttemptId of = {};
};
/// Every process of the attempt is gone, and every pipe has been read to its end.
struct TreeKilled {
  std::vector<message::Survivor> survivors;
  AttemptId of = {};
};
/// The answer to a Spool.
struct Spooled {
  SpoolAnswer answer;
};
/// Time has passed; sent at `Agent::next_deadline()` at the latest.
struct Tick {};
}  // namespace agent_event

using AgentEvent =
    std::variant<agent_event::LinkDown, agent_event::Received, agent_event::Dismissed,
                 agent_event::ContextTaken, agent_event::ContextReceived, agent_event::ContextReady,
                 agent_event::ContextFailed, agent_event::HostChecked, agent_event::LeasesTried,
                 agent_event::HostsProbed, agent_event::RankStarted, agent_event::RankNotStarted,
                 agent_event::Blocked, agent_event::NoStopFile, agent_event::PortTaken,
                 agent_event::Failed, agent_event::RankPrinted, agent_event::RankEnded,
                 agent_event::RanksMeasured, agent_event::RanksSeen, agent_event::TreeKilled,
                 agent_event::Spooled, agent_event::Tick>;

/// What an agent asks of its driver, in order.
namespace agent_action {
/// Send on this link, which is the supervisor's from now on.
struct UseLink {
  LinkId link = 0;
};
struct CloseLink {
  LinkId link = 0;
  /// Sent before closing, unless earlier bytes are still waiting to be sent.
  std::optional<Message> last_word = {};
};
struct SendMessage {
  Message message;
};
struct SendOutput {
  std::shared_ptr<const OutputChunk> chunk;
  OutputPacking packing = OutputPacking::none;
};
/// Do this work on the spool file, after all that was asked before. Answer with Spooled.
struct Spool {
  SpoolWork work;
};
/// Make a copy of the context for this task; asked for once. Answer with ContextReady or
/// ContextFailed. If the context is not on this host, answer with ContextTaken first, and again for
/// each TakeContext.
struct FindContext {
  Context context;
};
/// The next piece of the packed context.
struct TakeContext {
  std::string bytes;
};
/// Check that every rank's working directory and program and the declared network interface exist,
/// count the GPUs, list the networks and answer probes of other hosts, hold as many ports as asked,
/// and write the files into the run directory. Nothing of an earlier attempt stays in the run
/// directory. Answer with HostChecked.
struct CheckHost {
  message::Prepare prepare;
  AttemptId of = {};
};
/// Check which of these hosts can be reached. Answer with HostsProbed.
struct ProbeHosts {
  std::vector<ProbeTarget> targets;
  bool is_thorough = false;  ///< every address is waited for
  AttemptId of = {};
};
/// Try once more to take the leases of the attempt. Answer with LeasesTried.
struct TakeLeases {
  AttemptId of = {};
};
/// Release the leases of the attempt; it may try again.
struct DropLeases {
  AttemptId of = {};
};
/// Nothing of the trial runs, and no attempt follows: release its leases, and forget what it
/// wanted.
struct EndLeases {
  int trial = 0;
};
/// The ranks start: mark the leases as running, so that other tasks do not wait for them.
struct ConfirmLeases {
  AttemptId of = {};
};
/// Execute one rank, as `Agent::command_of` says. Answer with RankStarted or RankNotStarted.
struct StartRank {
  int rank = 0;
  AttemptId of = {};
};
/// The ranks are about to start: their servers must be able to listen on the held ports.
struct ReleasePorts {
  AttemptId of = {};
};
/// Find out when ranks have touched their heartbeat files, and what they do, if asked. Answer with
/// RanksSeen.
struct LookAtRanks {
  bool wants_states = false;
  AttemptId of = {};
};
/// The attempt has GPUs of NVIDIA: say in RanksMeasured what they do, until KillTree.
struct WatchGpus {
  AttemptId of = {};
};
/// Make the stop file of the attempt, which tells its ranks to end. Later signals wait until the
/// file exists, cannot be made, or has taken too long.
struct MakeStopFile {
  AttemptId of = {};
};
/// Send the stop signal to the process group of a rank.
struct TerminateRank {
  int rank = 0;
  AttemptId of = {};
  int signal = 15;
};
/// Send KILL to every process that this attempt has started, until none is left, and to no other
/// process. RankEnded follows for each rank that was alive, then TreeKilled.
struct KillTree {
  AttemptId of = {};
};
/// Release everything that is kept for an attempt: its ports, its descriptors, the state of its
/// ranks.
struct ForgetAttempt {
  AttemptId of = {};
};
/// All ranks must be dead at this instant, even if the agent is gone and cannot kill them (the
/// guard does it then). Nothing: there is no such instant.
struct SetFence {
  std::optional<Instant> at;
};
/// Stop reading the pipes of the attempt's ranks, or resume. What is in a rank's pipe when it ends
/// is read in any case.
struct PauseReading {
  AttemptId of = {};
};
struct ResumeReading {
  AttemptId of = {};
};
/// The agent has nothing left to do; the process ends, and removes what it made on the host.
struct Leave {};
}  // namespace agent_action

using AgentAction =
    std::variant<agent_action::UseLink, agent_action::CloseLink, agent_action::SetFence,
                 agent_action::SendMessage, agent_action::SendOutput, agent_action::Spool,
                 agent_action::CheckHost, agent_action::FindContext, agent_action::TakeContext,
                 agent_action::ProbeHosts, agent_action::LookAtRanks, agent_action::TakeLeases,
                 agent_action::DropLeases, agent_action::EndLeases, agent_action::ConfirmLeases,
                 agent_action::StartRank, agent_action::ReleasePorts, agent_action::WatchGpus,
                 agent_action::MakeStopFile, agent_action::TerminateRank, agent_action::KillTree,
                 agent_action::ForgetAttempt, agent_action::PauseReading,
                 agent_action::ResumeReading, agent_action::Leave>;

}  // namespace train
