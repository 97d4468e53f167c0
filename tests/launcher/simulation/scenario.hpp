// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "launcher/agent/output_queue.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/rendezvous/port_needs.hpp"
#include "launcher/wire/message.hpp"

namespace train::simulation {

/// What a rank does when nobody disturbs it.
struct RankScript {
  bool can_start = true;
  nanoseconds lifetime{0};
  int code = 0;
  std::optional<int> signal;  ///< instead of the code
  bool ignores_term = false;
  bool survives_kill = false;      ///< stuck in the kernel
  bool ends_well_on_term = false;  ///< with code 0
  nanoseconds term_delay{0};
  int prints = 0;  ///< spread over its lifetime
  int print_bytes = 0;
  bool leaves_orphan = false;  ///< a process in the background that outlives it
  int fails_until = 1'000;     ///< the first attempt in which it ends with 0, and can be started

  bool fails_in(int attempt) const { return fails() && attempt < fails_until; }

  bool fails() const { return !can_start || code != 0 || signal.has_value(); }
};

/// agent_failure: something throws in the agent, which lives on. agent_killed: the agent dies, and
/// its guard kills what it has left. agent_dismissed: a signal tells it to end.
enum class HostFault {
  none,
  crash,
  freeze,
  partition,
  link_break,
  agent_failure,
  agent_killed,
  agent_dismissed
};

/// The directions of a connection.
enum class Way { to_host, to_supervisor };

/// The network between the launcher and a host carries nothing for a while, one way or both: what
/// is sent waits, and new connections do not come about.
struct Cut {
  Instant at{0};
  nanoseconds length{0};
  bool to_host = true;
  bool to_supervisor = true;
  nanoseconds stall{0};  ///< how much longer connections wait that were open, as with TCP

  Instant end() const { return at + length; }
  bool is_of(Way way) const { return way == Way::to_host ? to_host : to_supervisor; }
};

/// All connections of a host are gone, and what was on its way with them. A side that does not hear
/// of it takes it for silence.
struct Break {
  Instant at{0};
  bool host_hears = true;
  bool supervisor_hears = true;
};

/// What happens to a host. Instants are virtual time.
struct HostScript {
  nanoseconds clock_ahead{0};          ///< at the beginning
  int clock_ppm = 0;                   ///< how much faster its clock goes, in millionths
  nanoseconds latency{0};              ///< one way, at least
  nanoseconds jitter{0};               ///< on top, at most
  std::uint64_t bytes_per_second = 0;  ///< that its connection carries each way; 0: any number
  nanoseconds connect_delay{0};
  bool unreachable = false;
  nanoseconds check_delay{0};  ///< it answers pings meanwhile, and says what it waits for
  bool refuses = false;
  bool lacks_context = false;
  bool context_fails = false;    ///< it has no room for it
  bool miscounts_ports = false;  ///< holds one port less than it was asked for, or one too many
  nanoseconds start_delay{0};
  nanoseconds death_time{0};  ///< from the kill of a rank to its end
  bool kill_hangs = false;    ///< the agent lives on, but never sees the end of its processes
  bool floods = false;        ///< then, one of these prints for half an hour
  HostFault fault = HostFault::none;
  Instant fault_at{0};
  /// Of a freeze or a partition, or how long a crashed machine takes to start anew; nothing: for
  /// ever.
  std::optional<nanoseconds> fault_for;
  std::vector<Cut> cuts;
  std::vector<Break> breaks;
  nanoseconds login_time{std::chrono::milliseconds(300)};  ///< of a connection after the first
  std::optional<Instant> port_taken_at;                    ///< by another user of the host
  std::vector<RankScript> ranks;

  /// What its clock shows.
  Instant clock(Instant now) const { return now + clock_ahead + drift(now); }
  /// How much further it is from the others after so long.
  nanoseconds drift(nanoseconds time) const { return time * clock_ppm / 1'000'000; }
  /// How long it takes until its clock has gone so far, to a billionth.
  nanoseconds time_of(nanoseconds by_its_clock) const {
    return by_its_clock - drift(by_its_clock - drift(by_its_clock)) + std::chrono::microseconds(1);
  }
  /// A partition or freeze at this instant, and when it ends (nothing: never).
  bool has_fault(HostFault kind, Instant now) const {
    return fault == kind && now >= fault_at && (!fault_for || now < fault_at + *fault_for);
  }
  /// Whether the network carries something now; else when open connections carry it again.
  std::optional<Instant> cut_until(Way way, Instant now) const;
  static constexpr Instant never = Instant::max();
  bool has_outages() const { return !cuts.empty() || !breaks.empty(); }
};

/// A launcher whose task goes on without it, until another one adopts it.
struct SupervisorDeath {
  std::optional<Instant> at;    ///< when; nothing: at an action
  std::uint64_t at_action = 0;  ///< between the one before and this one, from 1
  bool silently = false;        ///< its machine, which is booted anew
  bool freezes = false;         ///< it lives, and thaws once another one has taken over
  nanoseconds unattended{0};    ///< until the next one begins
};

/// The wall clock of the launcher's machine is set.
struct WallJump {
  Instant at{0};
  nanoseconds by{0};
};

/// The disk of the logs does not answer for a while.
struct LogsHang {
  Instant at{0};
  std::optional<nanoseconds> length;  ///< nothing: for ever
};

/// Everything that will happen in one run, but for the timing of the network.
struct Scenario {
  std::uint64_t seed = 0;
  std::vector<HostScript> hosts;  ///< the last ones are spare: they take the place of lost ones
  std::size_t spares = 0;
  bool shrinks = false;    ///< where too few hosts are left, an attempt has those that there are
  milliseconds notice{0};  ///< stop_notice
  milliseconds grace{0};
  std::optional<milliseconds> max_runtime;
  milliseconds window{0};                           ///< reconnect_window
  milliseconds launcher_wait{brief_launcher_wait};  ///< on_launcher_loss
  bool outages_are_short = false;                   ///< so much so that nothing may come of them
  /// Something is printed on every host at least every half second, until all is over: it arrives
  /// soon after the network is back.
  bool prints_steadily = false;
  std::vector<Instant> interrupts;  ///< ascending
  std::optional<Instant> supervisor_dies;
  bool supervisor_dies_silently = false;  ///< its machine, with all connections
  /// Those of the first launcher, of the one that adopts its task, ...
  std::vector<SupervisorDeath> deaths;
  std::vector<WallJump> wall_jumps;
  bool has_journal = false;
  std::size_t journal_room = SIZE_MAX;  ///< entries that it takes
  nanoseconds journal_time{0};          ///< that an entry may take now and then
  nanoseconds write_delay{0};           ///< from output received to output acknowledged
  nanoseconds write_time{0};            ///< of each chunk; while one is written the next ones wait
  std::optional<LogsHang> logs_hang = {};
  std::size_t output_capacity = OutputQueue::usual_capacity;  ///< of each agent
  bool has_metrics = false;                                   ///< ranks report as they print
  int max_restarts = 0;
  milliseconds restart_delay{1'000};
  std::uint64_t spool_room = 0;  ///< on the disk of each host
  nanoseconds spool_time{0};     ///< of each thing done there
  PortNeeds ports;
  bool has_context = false;
  std::uint64_t context_size = 0;         ///< packed, in bytes
  std::optional<Instant> context_packed;  ///< when; nothing: it cannot be packed

  Trial trial() const;
  /// On these hosts: ascending, no more than those that are not spare. All hosts have as many
  /// ranks.
  Trial trial_on(const std::vector<int>& hosts) const;
  /// How long ranks go on without a word of a launcher.
  milliseconds fence() const { return fence_window(window, launcher_wait); }
  bool waits_for_ever() const { return fence() >= for_ever; }
  /// How long a launcher may be dead without any rank being told to end, whatever was on its way.
  nanoseconds soft_loss() const;
  /// Nothing but the ranks' own doing can end the run.
  enum class Deaths { forbidden, allowed };  ///< of launchers whose task others adopt
  bool is_undisturbed(Deaths deaths_are = Deaths::forbidden) const;
  /// Some agent never sees the end of what it kills.
  bool kills_hang() const;
  /// When the disk of the logs answers what is asked of it at this instant.
  Instant logs_answer(Instant asked) const;
  std::vector<int> failing_ranks() const;
  nanoseconds longest_lifetime() const;
  /// How far the wall clock is from where it was at the beginning.
  nanoseconds wall_shift(Instant now) const;
  /// How long the slowest line takes for all that the ranks print.
  nanoseconds line_time() const;
  /// For how long hosts are out of reach, all together.
  nanoseconds outage_time() const;
};

/// The scenario of a seed: a few hosts, and faults of one kind, of several, or none.
Scenario scenario_of(std::uint64_t seed);
/// One in which attempts follow each other.
Scenario restarts_of(std::uint64_t seed);
/// One in which others take the place of hosts that fail.
Scenario moves_of(std::uint64_t seed);
/// One in which launchers die, and others go on with their task.
Scenario adoptions_of(std::uint64_t seed);

}  // namespace train::simulation
