// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/fitness/host_fitness.hpp"
#include "launcher/live/live_hosts.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// The result of a finding; of several findings the greatest counts.
enum class Fitness {
  fit,      ///< worth knowing, but ranks run: "3 of its 8 slots are held"
  unknown,  ///< could not be determined
  unfit,    ///< ranks would fail there, or differ from the others
};
/// "fit", "unfit", "unknown".
std::string_view to_string(Fitness fitness);

/// One finding about a host.
struct HostFinding {
  std::size_t host = 0;  ///< index into the checked hosts
  Fitness fitness = Fitness::fit;
  std::string check;    ///< one word: "reach", "slots", "script", "disk", "clock", ...
  std::string message;  ///< without the host's name; not escaped
  std::string hint;     ///< the next step; may be empty

  bool operator==(const HostFinding&) const = default;
};

/// A host that was queried, and its answer.
struct CheckedHost {
  Host host;
  Result<HostFitness> fitness;
  /// The range in which its clock is ahead of this machine's (negative: behind): it was read at
  /// some moment between query and answer.
  nanoseconds clock_ahead_least{0};
  nanoseconds clock_ahead_most{0};
};

/// Judges hosts by what they need and in comparison to each other: most of them are assumed to be
/// right; in a tie, the group of the first host is. Findings are sorted by host, those that prevent
/// ranks from running first.
///
/// Thresholds and their sources:
/// - a driver is too old for the CUDA of torch below 450.80.02 (CUDA 11), 525.60.13 (12), 580 (13):
///   "CUDA Compatibility", minor version compatibility, of NVIDIA;
/// - shared memory below 512 MiB: PyTorch's data loaders pass batches through it, and a container
///   has 64 MiB of it by default;
/// - clocks that differ by more than a second from the most common time: certificates, file times
///   and logs of several hosts do not match then;
/// - locked memory below 64 MiB if there is an RDMA device, whose buffers are locked;
/// - data that is read at less than a third of the median pace of at least three hosts: as for a
///   link in `judge_links`.
std::vector<HostFinding> judge(const std::vector<CheckedHost>& hosts);

/// The overall result of these findings for one host, and for all hosts.
Fitness fitness_of(const std::vector<HostFinding>& findings, std::size_t host);
Fitness fitness_of(const std::vector<HostFinding>& findings);

/// A finding that several hosts share, in the order of the first host.
struct SharedFinding {
  HostFinding finding;
  std::vector<std::size_t> hosts;
};
std::vector<SharedFinding> shared_findings(const std::vector<HostFinding>& findings);

/// The live state of the hosts, as `train hosts list` shows it.
std::vector<LiveHost> live_hosts_of(const std::vector<CheckedHost>& hosts);

/// A rate in bytes per second as "23.4 GB/s".
std::string rate_text(std::uint64_t bytes_per_second);

/// "+2.5 s", "-1 h 3 min", "0 s" if the clocks may agree; empty if it is unknown.
std::string clock_text(const CheckedHost& host);

/// Whether enough was read for the pace to be that of the disk, rather than the time for opening
/// files.
bool has_pace(const DataFacts& data);

}  // namespace train
