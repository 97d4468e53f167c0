// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"
#include "launcher/lease/lease.hpp"
#include "launcher/lease/ticket.hpp"
#include "launcher/plan/environment_entry.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/rendezvous/host_gpus.hpp"
#include "launcher/rendezvous/host_networks.hpp"
#include "launcher/rendezvous/rank_environment.hpp"
#include "launcher/wire/attempt_id.hpp"
#include "launcher/wire/output_chunk.hpp"
#include "launcher/wire/rank_state.hpp"
#include "launcher/wire/rank_usage.hpp"

namespace train {

/// Version of the messages below. The launcher ships its own agent, so both sides always agree; a
/// difference means that something else answers.
constexpr int wire_version = 21;

/// Longest text about a problem of the agent, in bytes; longer ones are cut.
constexpr std::size_t longest_trouble = 2'000;

/// More than Linux supports on any machine; a host that reports more is not believed.
constexpr int most_cpus = 8'192;

/// What one rank executes on its host. Arguments and values are bytes, not text.
struct RankCommand {
  int rank = 0;
  Entrypoint entrypoint;
  /// Must exist on the host. Absolute, or relative to the context if there is one.
  std::string working_directory;
  std::vector<EnvironmentEntry> environment;  ///< on top of the host's session environment
  /// The CPUs that it is bound to; empty: all of the session. The agent determines them when the
  /// rank starts: they are never sent.
  std::vector<int> cpus = {};
  /// A line for /bin/sh that one of the ranks of the host runs before any of them runs its
  /// entrypoint; empty: none.
  std::string setup = {};
  /// The host's copy of the context; empty: there is none. The agent fills it in: it is never sent.
  std::string context_directory = {};

  bool operator==(const RankCommand&) const = default;
};

/// Rule for output that the launcher has not written yet: how it is kept on the host's disk, and
/// what happens when that room is used up.
struct SpoolRule {
  std::uint64_t limit = 0;  ///< bytes on the host's disk; 0: only memory is used
  /// At the limit: drop new output and report how much, or stop reading the ranks' pipes.
  bool drops = false;
  bool operator==(const SpoolRule&) const = default;
};

/// Which CPUs of a host its ranks are bound to.
struct CpuBindingRule {
  CpuBinding mode = CpuBinding::none;
  bool has_whole_host = false;  ///< all slots of the host are the trial's
  /// `exclusive` on a host that the trial shares: how many slots the host has, and which of them
  /// each rank has, in the order of the ranks. Empty: some rank has none.
  int slots = 0;
  std::vector<std::vector<int>> slots_of_ranks = {};
  bool operator==(const CpuBindingRule&) const = default;
};

/// The leases that a task needs on a host while its agent runs, all or nothing.
struct LeaseRequest {
  std::vector<LeaseWant> wants = {};  ///< empty: nothing is held
  int slots = 0;               ///< that the host must have, which determines their kind (`settled`)
  std::string task_name = {};  ///< for others; at most `longest_holder_text`
  std::string launcher = {};   ///< likewise
  /// The lease folder; at most `longest_lease_directory`; empty: the usual folder of the host.
  std::string directory = {};
  bool allow_busy = false;  ///< GPUs are taken even if processes outside of `train` use them
  /// The order of the task's ticket on this host; nothing: it has not waited, and all waiting tasks
  /// come first.
  std::optional<TicketOrder> order = {};
  bool operator==(const LeaseRequest&) const = default;
};

namespace message {

// Messages about one attempt name it as `of`. Encoding it, and `attempt_of`, are done once for all
// such messages.

// Messages of the launcher.

/// How much of a rank's output, or of its metrics, the launcher has: bytes since the beginning of
/// the attempt.
struct OutputPosition {
  int rank = 0;
  std::uint64_t position = 0;
  AttemptId of = {};
  bool is_of_metrics = false;
  bool operator==(const OutputPosition&) const = default;
};
/// The first message on every connection; the agent closes one on which another comes first. Of two
/// connections, the one with the higher epoch counts, within an epoch the one with the higher
/// number. The agent closes the other one, and sends Displaced on it if its epoch is lower.
struct Attach {
  int version = wire_version;
  /// Of the supervisor; later supervisors have higher ones.
  std::uint64_t epoch = 1;
  std::uint64_t connection = 1;                ///< 1, 2, ... to this host
  std::vector<OutputPosition> positions = {};  ///< where output resumes; missing ranks: from 0
  std::uint64_t credit = 0;                    ///< as in Acknowledge
  std::string launcher = {};  ///< name of the launcher for other launchers; at most `longest_name`
  bool operator==(const Attach&) const = default;
};
/// First phase: check everything that the ranks need, hold ports, write files, start nothing.
struct Prepare {
  std::string task_id;
  std::vector<RankCommand> ranks;
  int hold_ports = 0;               ///< how many; at most `most_held_ports`
  std::vector<RunFile> files = {};  ///< for the run directory; readable for the user alone
  milliseconds stop_grace{10'000};  ///< used when the agent stops the ranks by itself
  /// How long the ranks go on without a message from the launcher; 0: they are stopped when its
  /// connection ends.
  milliseconds reconnect_window{0};
  /// How long the ranks go on after the launcher has died; `for_ever`: until another one says stop.
  milliseconds launcher_wait = brief_launcher_wait;
  OutputPacking output_packing = OutputPacking::none;
  std::optional<Context> context = {};  ///< the ranks start in a copy of it
  std::string interface = {};           ///< must exist, be up and have an address; empty: none
  SpoolRule spool = {};
  /// Created if missing, and checked to be the same folder on all hosts; absolute; empty: none.
  std::string checkpoint_directory = {};
  int stop_signal = 15;         ///< the stop signal of the ranks, as Linux numbers it
  milliseconds stop_notice{0};  ///< as `stop_grace`: between the stop file and that signal
  LeaseRequest leases = {};     ///< tried once with the check; answered with Leases after Ready
  CpuBindingRule cpu_binding = {};
  GpuWait gpu_wait = {};  ///< of GPUs that are leased as a whole
  AttemptId of = {};
  bool looks_for_checkpoints = false;  ///< RankEnded says whether there is a new one
  bool wants_networks = false;  ///< Ready reports them, and probes of other hosts are answered
  bool operator==(const Prepare&) const = default;
};
/// Try once more to take the leases of the attempt. Answered with Leases.
struct TakeLeases {
  AttemptId of = {};
  bool operator==(const TakeLeases&) const = default;
};
/// Release the leases. For an attempt that is ready: another task wants them as well, and has
/// precedence. For the last attempt of a trial, once it has ended: no attempt of the trial follows.
struct DropLeases {
  AttemptId of = {};
  bool operator==(const DropLeases&) const = default;
};
/// Check which of these hosts can be reached, and at which of their addresses. Only for an attempt
/// that is ready. Answered with Probed.
struct Probe {
  std::vector<ProbeTarget> targets = {};
  bool is_thorough = false;  ///< every address is waited for
  AttemptId of = {};
  bool operator==(const Probe&) const = default;
};
/// An interface that the ranks of several hosts use.
struct NetworkChoice {
  int first_rank = 0;     ///< valid from the host of this rank up to the host of the next choice
  std::string interface;  ///< empty: none is known
  bool is_best = true;    ///< no other interface of the host is as good; else NCCL may use several
  bool operator==(const NetworkChoice&) const = default;
};
/// Second phase, once every host is ready: start the ranks. A port is 0 if it is not needed.
struct Go {
  std::string rendezvous_address;
  int rendezvous_port = 0;
  std::string megascale_address = {};
  int megascale_port = 0;
  std::vector<std::string> workers = {};  ///< address:port of every rank; empty: not needed
  /// The kind that slots turned out to be; nothing: not needed.
  std::optional<SlotMeaning> slots = {};
  std::vector<NetworkChoice> networks = {};  ///< ascending; empty: not needed
  AttemptId of = {};
  bool operator==(const Go&) const = default;
};
/// Make the stop file, send the stop signal to every rank after the notice, and KILL after the
/// grace; if both are zero, KILL at once. A repeated Stop can only shorten the remaining times,
/// never extend them.
struct Stop {
  milliseconds grace{0};
  milliseconds notice{0};
  AttemptId of = {};
  bool operator==(const Stop&) const = default;
};
/// Say when a rank of the attempt has last touched its heartbeat file; `wants_states`: and what
/// each rank does. Answered with RanksSeen, if its ranks were started, in 7 s at most.
struct LookAtRanks {
  bool wants_states = false;
  AttemptId of = {};
  bool operator==(const LookAtRanks&) const = default;
};
/// Output of this connection has been written, up to and including this chunk.
struct Acknowledge {
  std::uint64_t chunk = 0;  ///< 0: none yet
  /// How much output may be sent on this connection in all, as `cost_of` counts it; never less than
  /// before. The last chunk may begin within the credit and end after it.
  std::uint64_t credit = 0;
  /// Chunks of this connection up to this one would survive a power loss of the launcher's machine;
  /// never more than `chunk`. The agent need not keep them any longer.
  std::uint64_t synced = 0;
  bool operator==(const Acknowledge&) const = default;
};
/// The launcher has recorded the end of this attempt: the agent forgets it, and waits for another
/// one.
struct Forget {
  AttemptId of = {};
  bool operator==(const Forget&) const = default;
};
struct Ping {
  Instant sent{0};  ///< launcher's clock
  /// `answered` of the newest Pong that the launcher has received from this host, over all
  /// connections; 0: none. A Ping that arrives late thus proves only that old Pong.
  Instant newest_pong{0};
  bool operator==(const Ping&) const = default;
};
/// The agent is no longer needed: it removes what it made and leaves.
struct Bye {
  bool operator==(const Bye&) const = default;
};

// Messages of the agent.

/// Why an agent has stopped its ranks by itself.
enum class OwnStop {
  none,
  silence,   ///< no message from the launcher for the reconnect window
  launcher,  ///< the launcher has died
  failure,   ///< something in the agent failed
};
/// "none", "silence", "launcher", "failure".
const char* to_string(OwnStop stop);

/// How far the agent is with one attempt.
struct AttemptStatus {
  AttemptId of = {};
  bool has_started = false;  ///< Go has come
  OwnStop stop = OwnStop::none;
  bool operator==(const AttemptStatus&) const = default;
};

/// The answer to Attach. On a connection that is not the first, the agent then repeats everything
/// that it has reported about its ranks and their ends.
struct Hello {
  int version = wire_version;
  std::string host_name;  ///< the name of the host for itself
  std::string boot_id;
  std::int64_t pid = 0;
  std::vector<AttemptStatus> attempts = {};  ///< prepared and not forgotten
  std::vector<int> holding = {};             ///< trials that may hold leases of the host; ascending
  bool operator==(const Hello&) const = default;
};
struct Ready {
  std::vector<int> held_ports;  ///< 1 .. 65535 each, in the order of launcher/rendezvous
  std::string run_directory;
  HostGpus gpus = {};
  /// The mark of the checkpoint folder: the same on hosts that share it, and only on those; empty
  /// if there is no folder.
  std::string checkpoint_mark = {};
  /// The host kills the agent and its ranks when the login session that started them ends.
  bool ends_with_login = false;
  HostNetworks networks = {};  ///< if they were asked for
  AttemptId of = {};
  bool operator==(const Ready&) const = default;
};
/// The result of the last Probe.
struct Probed {
  std::vector<ProbeResult> results;
  AttemptId of = {};
  bool operator==(const Probed&) const = default;
};
/// The host lacks the context, and has taken this many bytes of it so far, first 0. The launcher
/// sends up to `context_window` beyond them, in frames of their own.
struct WantContext {
  std::uint64_t taken = 0;
  bool operator==(const WantContext&) const = default;
};
/// The result of the last try to take the leases of the attempt: all of them, or none.
struct Leases {
  std::vector<LeaseHolder> blockers;  ///< empty: all is held
  AttemptId of = {};
  bool operator==(const Leases&) const = default;
};
/// Something that the ranks need is missing; nothing was started.
struct Refused {
  std::vector<Diagnostic> problems;  ///< only `message` and `hint` are sent
  /// `missing`, or `host` if the host itself is in trouble (a full disk).
  ErrorClass error_class = ErrorClass::missing;
  AttemptId of = {};
  bool operator==(const Refused&) const = default;
};
struct RankStarted {
  int rank = 0;
  std::int64_t pid = 0;
  AttemptId of = {};
  /// The CPUs that it was bound to, ascending; at most `most_cpus`; empty: unbound.
  std::vector<int> cpus = {};
  /// Ranks were to get cores of their own, but there are too few: they share those of their nodes.
  bool shares_cores = false;
  bool operator==(const RankStarted&) const = default;
};
/// A rank could not be executed after all.
struct RankNotStarted {
  int rank = 0;
  std::string reason;
  /// `missing`; `host` if the host is in trouble (no descriptor, process or memory left); `config`
  /// for arguments that no kernel accepts.
  ErrorClass error_class = ErrorClass::missing;
  AttemptId of = {};
  bool operator==(const RankNotStarted&) const = default;
};
/// The kernel has killed a process because memory ran out.
struct MemoryKill {
  std::string limit;    ///< what was used up: "the host's memory", "its cgroup's limit of 2 GiB"
  std::string process;  ///< "4711 (python3)"; empty: not known
  bool operator==(const MemoryKill&) const = default;
};
/// How a rank ended. Exactly one of `code` and `signal` is set.
struct RankEnded {
  int rank = 0;
  std::optional<int> code;
  std::optional<int> signal;
  bool dumped_core = false;
  bool after_stop = false;  ///< train had already told it to stop
  Instant at{0};            ///< agent's clock, when its pidfd became ready
  std::string error_file;   ///< contents of the rank's error file, bounded; usually empty
  AttemptId of = {};
  /// Why SIGKILL came, if the kernel reports it.
  std::optional<MemoryKill> memory_kill = {};
  std::string core = {};  ///< where the core dump is, in words; empty: there is none
  std::optional<RankUsage> usage = {};
  /// How the parent process of the ranks ended by itself, which ended this rank as well: "was
  /// killed by SIGKILL", "is out of memory"; usually empty.
  std::string parent_end = {};
  /// Whether the checkpoint folder has something new since the host was checked; nothing: that was
  /// not looked for, or the file system does not answer.
  std::optional<bool> has_new_checkpoint = {};
  bool operator==(const RankEnded&) const = default;
};
/// What running ranks use now; only ranks whose usage has changed. Sent at most once after each
/// Ping, and not again on a connection before a Ping proves that this has arrived: so a slow or
/// stalled connection holds at most one.
struct Usage {
  std::vector<UsageOfRank> ranks;  ///< at most `most_usages`
  AttemptId of = {};
  bool operator==(const Usage&) const = default;
};
/// The answer to LookAtRanks.
struct RanksSeen {
  bool has_states = false;  ///< `wants_states` of the question
  /// How long ago some rank last touched its heartbeat file; nothing: none has, or it is not known.
  std::optional<milliseconds> touched = {};
  std::vector<RankState> states = {};  ///< of ranks that run; at most `most_rank_states`
  AttemptId of = {};
  bool operator==(const RanksSeen&) const = default;
};
/// A process that could not be killed.
struct Survivor {
  std::int64_t pid = 0;
  std::int64_t uid = 0;
  std::string command;
  bool operator==(const Survivor&) const = default;
};
/// Every rank has ended, every process of the attempt is gone (except `survivors`), and all output
/// was acknowledged.
struct Finished {
  std::vector<Survivor> survivors;  ///< the first survivors
  int more_survivors = 0;           ///< number of further survivors
  AttemptId of = {};
  bool operator==(const Finished&) const = default;
};
struct Pong {
  Instant sent{0};      ///< of the Ping
  Instant answered{0};  ///< agent's clock
  bool operator==(const Pong&) const = default;
};
/// The agent waits for a call that its host's file system has not answered, or for memory of GPUs.
/// Repeated while it lasts, during checks and starts.
struct Blocked {
  /// "stat of '/nfs/data'"; "3.0 of 40.0 GiB of GPU 1 are in use"; at most `longest_trouble` bytes
  std::string what;
  milliseconds so_far{0};  ///< how long it has lasted
  bool is_gpu_memory = false;
  AttemptId of = {};
  bool operator==(const Blocked&) const = default;
};
/// A port that the host holds is listened on by another user, and by no process of the task.
struct PortTaken {
  int port = 0;          ///< 1 .. 65535
  std::int64_t uid = 0;  ///< of the listener
  AttemptId of = {};
  bool operator==(const PortTaken&) const = default;
};
/// The pipes of this host's ranks are no longer read, since there is no room left to keep output:
/// ranks wait once their pipes are full. Or they are read again.
struct OutputBlocked {
  bool is_blocked = false;
  std::uint64_t kept = 0;  ///< bytes that wait to be sent or acknowledged
  bool operator==(const OutputBlocked&) const = default;
};
/// The agent stops the ranks without a request, while there is a connection. Later connections
/// learn it from Hello.
struct StopsRanks {
  OwnStop why = OwnStop::silence;  ///< not none
  Instant at{0};                   ///< agent's clock
  AttemptId of = {};
  bool operator==(const StopsRanks&) const = default;
};
/// The stop file could not be made, for this reason: the ranks are stopped nevertheless.
struct NoStopFile {
  std::string reason;  ///< at most `longest_trouble` bytes
  AttemptId of = {};
  bool operator==(const NoStopFile&) const = default;
};
/// Instead of Hello, if only a running agent was asked for: there is none, and nothing of what it
/// had started is left.
struct NoAgent {
  std::string boot_id;
  bool operator==(const NoAgent&) const = default;
};
/// Instead of Hello, if the agent serves no launcher any more: it was told to leave, has given its
/// launcher up, or is gone. These processes that it had started could not be ended, as far as
/// known. Sent only once it is certain that their end takes long.
struct LeftBehind {
  std::vector<Survivor> survivors;  ///< the first survivors
  int more_survivors = 0;           ///< number of further survivors
  bool operator==(const LeftBehind&) const = default;
};
/// The last message on a connection whose epoch is lower than another one's: a later supervisor has
/// the task, and this one is ignored from now on.
struct Displaced {
  std::uint64_t epoch = 0;  ///< of the later supervisor
  std::string by;           ///< its `Attach::launcher`
  bool operator==(const Displaced&) const = default;
};
/// The agent itself has failed. It stops its ranks as after a Stop.
struct AgentFailed {
  std::string reason;  ///< at most `longest_trouble` bytes
  bool operator==(const AgentFailed&) const = default;
};

}  // namespace message

/// Without such a window, an agent that has not heard from its launcher for this long ends its
/// ranks.
constexpr milliseconds longest_silence_of_launcher{40'000};

/// How long an agent that was told to start ranks lets them go on after its last message that the
/// launcher is known to have received; 0: they end with the connection; `for_ever`: forever.
constexpr milliseconds fence_window(milliseconds reconnect_window, milliseconds launcher_wait) {
  const milliseconds longer = std::max(reconnect_window, launcher_wait);
  return longer <= brief_launcher_wait ? milliseconds(0) : longer;
}

using Message =
    std::variant<message::Attach, message::NoAgent, message::Prepare, message::Go, message::Stop,
                 message::Acknowledge, message::Forget, message::Ping, message::Bye, message::Hello,
                 message::Ready, message::WantContext, message::Refused, message::RankStarted,
                 message::RankNotStarted, message::RankEnded, message::Finished, message::Pong,
                 message::TakeLeases, message::DropLeases, message::Leases, message::Blocked,
                 message::PortTaken, message::OutputBlocked, message::StopsRanks,
                 message::NoStopFile, message::Displaced, message::AgentFailed, message::Usage,
                 message::LeftBehind, message::Probe, message::Probed, message::LookAtRanks,
                 message::RanksSeen>;

/// The attempt that a message is about; nothing if it is about the whole host.
std::optional<AttemptId> attempt_of(const Message& message);
/// The same message, about this attempt. A message about the whole host is unchanged.
Message about(Message message, AttemptId of);

/// The payload of a control frame: one line of JSON with a "type".
std::string encode_message(const Message& message);

/// Decodes the message of a control frame. No input is trusted: an unknown type, a missing field, a
/// wrong type, a number out of range, deep nesting, or from an agent more than
/// wire/message_limits.hpp allows is an error of class `host`.
Result<Message> decode_message(std::string_view payload);

/// The whole frame of a message, for the stream.
std::string frame_of(const Message& message);

}  // namespace train
