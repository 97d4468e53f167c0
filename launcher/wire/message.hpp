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
#include "launcher/rendezvous/environment.hpp"
#include "launcher/rendezvous/host_gpus.hpp"
#include "launcher/rendezvous/host_networks.hpp"
#include "launcher/wire/attempt_id.hpp"
#include "launcher/wire/output_chunk.hpp"
#include "launcher/wire/rank_usage.hpp"

namespace train {

/// Version of the messages below. The launcher ships its own binary, so both sides always agree;
/// a difference means that something else answers.
constexpr int wire_version = 16;

/// The most bytes of a text about a trouble of the agent; what is sent is cut to that.
constexpr std::size_t longest_trouble = 2'000;

/// More than Linux knows on any machine; a host that says more is not believed.
constexpr int most_cpus = 8'192;

/// What one rank executes on its host. Arguments and values are bytes, not text.
struct RankCommand {
  int rank = 0;
  Entrypoint entrypoint;
  /// Must exist on the host. Absolute; relative to the context where there is one.
  std::string working_directory;
  std::vector<EnvironmentEntry> environment;  ///< on top of the host's session environment
  /// That it is bound to; empty: all that the session has. The agent finds them when the rank is to
  /// start: they are never sent.
  std::vector<int> cpus = {};

  bool operator==(const RankCommand&) const = default;
};

/// What becomes of output that the launcher has not written down, on the host's disk and, when that
/// is used up, in the ranks.
struct SpoolRule {
  std::uint64_t limit = 0;  ///< bytes on the host's disk; 0: only what fits into memory is kept
  /// At the limit: drop what comes and say how much, or stop reading what ranks print.
  bool drops = false;
  bool operator==(const SpoolRule&) const = default;
};

/// Which CPUs of a host its ranks are bound to.
struct CpuBindingRule {
  CpuBinding mode = CpuBinding::none;
  bool has_whole_host = false;  ///< all slots of the host are the trial's
  bool operator==(const CpuBindingRule&) const = default;
};

/// What a task is to hold of a host while its agent is there, all or nothing.
struct LeaseRequest {
  std::vector<LeaseWant> wants = {};  ///< empty: nothing is held
  int slots = 0;               ///< that the host is to have, to tell what they are (`settled`)
  std::string task_name = {};  ///< for others; at most `longest_holder_text`
  std::string launcher = {};   ///< likewise
  /// Where it is held; at most `longest_lease_directory`, empty: the usual folder of the host.
  std::string directory = {};
  bool allow_busy = false;  ///< GPUs are taken although processes outside of `train` use them
  /// Of the task's ticket on this host; nothing: it has not waited, and all who wait come first.
  std::optional<TicketOrder> order = {};
  bool operator==(const LeaseRequest&) const = default;
};

namespace message {

// What is about one attempt names it as `of`. On the wire and in `attempt_of` that is done once for
// all messages that have it.

// From the launcher.

/// How much the launcher has of what a rank prints, or of its metrics: bytes, from the beginning
/// of the attempt.
struct OutputPosition {
  int rank = 0;
  std::uint64_t position = 0;
  AttemptId of = {};
  bool is_of_metrics = false;
  bool operator==(const OutputPosition&) const = default;
};
/// The first message on every connection; nothing else is heard before it. Of two connections the
/// one with the higher epoch counts, within an epoch the one with the higher number: the agent
/// closes the other, and tells one of a lower epoch why (Displaced).
struct Attach {
  int version = wire_version;
  std::uint64_t epoch = 1;                     ///< of the supervisor; a later one has a higher
  std::uint64_t connection = 1;                ///< 1, 2, ... to this host
  std::vector<OutputPosition> positions = {};  ///< where output goes on; ranks left out: from 0
  std::uint64_t credit = 0;                    ///< as in Acknowledge
  std::string launcher = {};  ///< who that is, in words for another one; at most `longest_name`
  bool operator==(const Attach&) const = default;
};
/// First phase: check everything that the ranks need, hold ports, write files, start nothing.
struct Prepare {
  std::string task_id;
  std::vector<RankCommand> ranks;
  int hold_ports = 0;               ///< how many; at most `most_held_ports`
  std::vector<RunFile> files = {};  ///< for the run directory; readable for the user alone
  milliseconds stop_grace{10'000};  ///< used when the launcher is lost
  /// How long the ranks go on without a word from the launcher; 0: they are stopped when its
  /// connection ends.
  milliseconds reconnect_window{0};
  /// How long they go on once the launcher has died; `for_ever`: until another one says stop.
  milliseconds launcher_wait = brief_launcher_wait;
  OutputPacking output_packing = OutputPacking::none;
  std::optional<Context> context = {};  ///< that the ranks start in a copy of
  std::string interface = {};           ///< that must be there, up and with an address; empty: none
  SpoolRule spool = {};
  /// To be made, and found to be the same folder on all hosts; absolute; empty: none.
  std::string checkpoint_directory = {};
  int stop_signal = 15;         ///< that ranks get when they are stopped, as Linux counts
  milliseconds stop_notice{0};  ///< as `stop_grace`: between the stop file and that signal
  LeaseRequest leases = {};     ///< tried once with the check; answered with Leases behind Ready
  CpuBindingRule cpu_binding = {};
  GpuWait gpu_wait = {};  ///< of GPUs that are leased as a whole
  AttemptId of = {};
  bool wants_networks = false;  ///< Ready tells them, and those who look for the host are answered
  bool operator==(const Prepare&) const = default;
};
/// Try once more to hold what the attempt is to hold. Answered with Leases.
struct TakeLeases {
  AttemptId of = {};
  bool operator==(const TakeLeases&) const = default;
};
/// Let it go. Of an attempt that is ready: others want it as well, and have more of what they want.
/// Of the last one of a trial, once that has ended: nothing of the trial follows.
struct DropLeases {
  AttemptId of = {};
  bool operator==(const DropLeases&) const = default;
};
/// Look which of these hosts are reached, and at which of their addresses. Of an attempt that is
/// ready. Answered with Probed.
struct Probe {
  std::vector<ProbeTarget> targets = {};
  bool is_thorough = false;  ///< every address is waited for
  AttemptId of = {};
  bool operator==(const Probe&) const = default;
};
/// An interface that the ranks of several hosts use.
struct NetworkChoice {
  int first_rank = 0;     ///< it holds from the host of this rank on, up to that of the next choice
  std::string interface;  ///< empty: none is known
  bool is_best = true;    ///< no other one of the host is as good: NCCL would use them all
  bool operator==(const NetworkChoice&) const = default;
};
/// Second phase, once every host is ready: start the ranks. A port is 0 where nobody needs it.
struct Go {
  std::string rendezvous_address;
  int rendezvous_port = 0;
  std::string megascale_address = {};
  int megascale_port = 0;
  std::vector<std::string> workers = {};     ///< address:port of every rank; empty: nobody asks
  std::optional<SlotMeaning> slots = {};     ///< what they turned out to be; nothing: nobody asks
  std::vector<NetworkChoice> networks = {};  ///< ascending; empty: nobody asks
  AttemptId of = {};
  bool operator==(const Go&) const = default;
};
/// The stop file, the stop signal to every rank after the notice, and KILL after the grace; where
/// both are zero, KILL at once. Again: what is left of either gets shorter, never longer.
struct Stop {
  milliseconds grace{0};
  milliseconds notice{0};
  AttemptId of = {};
  bool operator==(const Stop&) const = default;
};
/// Output that came on this connection, up to and including this chunk, has been written down.
struct Acknowledge {
  std::uint64_t chunk = 0;  ///< 0: none yet
  /// How much output may be sent on this connection in all, as `cost_of` counts it; never less than
  /// before. The last chunk may begin within it and end after it.
  std::uint64_t credit = 0;
  /// Of what came on this connection, up to this chunk it would outlive a launcher's machine that
  /// loses its power; never more than `chunk`. The agent need not keep it any longer.
  std::uint64_t synced = 0;
  bool operator==(const Acknowledge&) const = default;
};
/// The launcher has the end of this attempt: the agent forgets it, and waits for another one.
struct Forget {
  AttemptId of = {};
  bool operator==(const Forget&) const = default;
};
struct Ping {
  Instant sent{0};  ///< launcher's clock
  /// `answered` of the newest Pong that the launcher has from this host, over all connections; 0:
  /// none. What the agent hears so late that this is long past proves nothing.
  Instant newest_pong{0};
  bool operator==(const Ping&) const = default;
};
/// Nothing more is wanted: the agent removes what it made and leaves.
struct Bye {
  bool operator==(const Bye&) const = default;
};

// From the agent.

/// Why an agent has stopped its ranks by itself.
enum class OwnStop {
  none,
  silence,   ///< it has not heard from the launcher for the reconnect window
  launcher,  ///< the launcher has gone
  failure,   ///< something in the agent failed
};
/// "none", "silence", "launcher", "failure".
const char* to_string(OwnStop stop);

/// How far the agent is with an attempt.
struct AttemptStatus {
  AttemptId of = {};
  bool has_started = false;  ///< Go has come
  OwnStop stop = OwnStop::none;
  bool operator==(const AttemptStatus&) const = default;
};

/// The answer to Attach. On a connection that is not the first, everything that the agent has said
/// of its ranks and of their end follows once more.
struct Hello {
  int version = wire_version;
  std::string host_name;  ///< what the host calls itself
  std::string boot_id;
  std::int64_t pid = 0;
  std::vector<AttemptStatus> attempts = {};  ///< that it was told to prepare, and not to forget
  std::vector<int> holding = {};  ///< trials that may hold something of the host; ascending
  bool operator==(const Hello&) const = default;
};
struct Ready {
  std::vector<int> held_ports;  ///< 1 .. 65535 each, in the order of launcher/rendezvous
  std::string run_directory;
  HostGpus gpus = {};
  /// The mark of the folder for checkpoints: the same on hosts that share it, and on no others;
  /// empty where none was asked for.
  std::string checkpoint_mark = {};
  /// The host kills the agent and its ranks when the login ends that they were started from.
  bool ends_with_login = false;
  HostNetworks networks = {};  ///< where they were asked for
  AttemptId of = {};
  bool operator==(const Ready&) const = default;
};
/// What came of the last Probe.
struct Probed {
  std::vector<ProbeResult> results;
  AttemptId of = {};
  bool operator==(const Probed&) const = default;
};
/// The host lacks the context, and has taken so many bytes of it so far, first 0: the launcher
/// sends what fits into `context_window` beyond them, in frames of their own.
struct WantContext {
  std::uint64_t taken = 0;
  bool operator==(const WantContext&) const = default;
};
/// What came of the last try to hold what the attempt is to hold: all of it, or nothing.
struct Leases {
  std::vector<LeaseHolder> in_the_way;  ///< empty: all is held
  AttemptId of = {};
  bool operator==(const Leases&) const = default;
};
/// Something that the ranks need is not there; nothing was started.
struct Refused {
  std::vector<Diagnostic> problems;  ///< only `message` and `hint` are sent
  /// `missing`, or `host` where the host itself is in trouble (a full disk).
  ErrorClass error_class = ErrorClass::missing;
  AttemptId of = {};
  bool operator==(const Refused&) const = default;
};
struct RankStarted {
  int rank = 0;
  std::int64_t pid = 0;
  AttemptId of = {};
  /// That it was bound to, ascending; at most `most_cpus`, empty: it was not.
  std::vector<int> cpus = {};
  /// Ranks were to get cores of their own, and there are too few: they share those of their nodes.
  bool shares_cores = false;
  bool operator==(const RankStarted&) const = default;
};
/// A rank could not be executed after all.
struct RankNotStarted {
  int rank = 0;
  std::string reason;
  /// `missing`; `host` where the host is in trouble (no descriptor, process or memory left);
  /// `config` for arguments that no kernel takes.
  ErrorClass error_class = ErrorClass::missing;
  AttemptId of = {};
  bool operator==(const RankNotStarted&) const = default;
};
/// The kernel has killed a process for want of memory.
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
  std::string error_file;   ///< what the rank wrote there, bounded; usually empty
  AttemptId of = {};
  /// Why SIGKILL came, where the kernel says so.
  std::optional<MemoryKill> memory_kill = {};
  std::string core = {};  ///< where the core is, in words; empty: there is none
  std::optional<RankUsage> usage = {};
  /// How the process has ended by itself that ranks are started from, which took this one along:
  /// "was killed by SIGKILL", "is out of memory"; usually empty.
  std::string parent_end = {};
  bool operator==(const RankEnded&) const = default;
};
/// What ranks that run use by now, of those of which that is new. At most once after each Ping, and
/// not again on a connection before a Ping says that this has arrived: a connection that is slow or
/// stands still holds no more than one.
struct Usage {
  std::vector<UsageOfRank> ranks;  ///< at most `most_usages`
  AttemptId of = {};
  bool operator==(const Usage&) const = default;
};
/// A process that could not be killed.
struct Survivor {
  std::int64_t pid = 0;
  std::int64_t uid = 0;
  std::string command;
  bool operator==(const Survivor&) const = default;
};
/// Every rank has ended, every process of the task is gone (but for `survivors`), and all output
/// has been acknowledged.
struct Finished {
  std::vector<Survivor> survivors;  ///< the first of them
  int more_survivors = 0;           ///< how many others there are
  AttemptId of = {};
  bool operator==(const Finished&) const = default;
};
struct Pong {
  Instant sent{0};      ///< of the Ping
  Instant answered{0};  ///< agent's clock
  bool operator==(const Pong&) const = default;
};
/// What the agent waits for: a call that its host's file system has not answered, or memory of
/// GPUs. Said again and again while it lasts, during checks and starts.
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
/// Nothing more is read of what the ranks of this host print, since there is no room left to keep
/// it: they wait as soon as their pipes are full. Or it is read again.
struct OutputBlocked {
  bool is_blocked = false;
  std::uint64_t kept = 0;  ///< bytes that wait for the launcher
  bool operator==(const OutputBlocked&) const = default;
};
/// The agent stops the ranks without having been asked to, while there is a connection. A later one
/// is told by Hello.
struct StopsRanks {
  OwnStop why = OwnStop::silence;  ///< not none
  Instant at{0};                   ///< agent's clock
  AttemptId of = {};
  bool operator==(const StopsRanks&) const = default;
};
/// The stop file could not be made, for this reason: the ranks are stopped all the same.
struct NoStopFile {
  std::string reason;  ///< at most `longest_trouble` bytes
  AttemptId of = {};
  bool operator==(const NoStopFile&) const = default;
};
/// In place of Hello, where only an agent that runs was asked for: there is none, and nothing of
/// what it had started is left.
struct NoAgent {
  std::string boot_id;
  bool operator==(const NoAgent&) const = default;
};
/// In place of Hello, where nobody is served any more: the agent was told to leave, or has given
/// its launcher up, or is gone. These processes of what it had started could not be ended, as far
/// as they are known. It comes no sooner than it is certain that their end takes long.
struct LeftBehind {
  std::vector<Survivor> survivors;  ///< the first of them
  int more_survivors = 0;           ///< how many others there are
  bool operator==(const LeftBehind&) const = default;
};
/// The last word on a connection whose epoch is lower than that of another one: a later supervisor
/// has the task, and this one is not heard any more.
struct Displaced {
  std::uint64_t epoch = 0;  ///< of the later one
  std::string by;           ///< its `Attach::launcher`
  bool operator==(const Displaced&) const = default;
};
/// Something in the agent itself has failed. It stops its ranks as after a Stop.
struct AgentFailed {
  std::string reason;  ///< at most `longest_trouble` bytes
  bool operator==(const AgentFailed&) const = default;
};

}  // namespace message

/// How long an agent that was told to start ranks lets them go on after the last word that the
/// launcher is known to have heard; 0: they end with the connection, `for_ever`: without an end.
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
                 message::LeftBehind, message::Probe, message::Probed>;

/// The attempt that a message is about; nothing for what is about the whole host.
std::optional<AttemptId> attempt_of(const Message& message);
/// The same message about this attempt. One that is about the whole host stays as it is.
Message about(Message message, AttemptId of);

/// The payload of a control frame: one line of JSON with a "type".
std::string encode_message(const Message& message);

/// The message of a control frame. Nothing that the other side sends is trusted: an unknown type, a
/// missing field, a wrong type, a number out of range, deep nesting, or from an agent more than
/// wire/message_limits.hpp allows is an error of class `host`.
Result<Message> decode_message(std::string_view payload);

/// The whole frame of a message, for the stream.
std::string frame_of(const Message& message);

}  // namespace train
