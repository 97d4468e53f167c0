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

/// What comes of a finding; of several the greatest.
enum class Fitness {
  fit,      ///< to be known, but ranks run: "3 of its 8 slots are held"
  unknown,  ///< nobody could tell
  unfit,    ///< ranks would fail there, or be different from the others
};
/// "fit", "unfit", "unknown".
std::string_view to_string(Fitness fitness);

/// One thing that was found at a host.
struct HostFinding {
  std::size_t host = 0;  ///< index of the checked hosts
  Fitness fitness = Fitness::fit;
  std::string check;    ///< one word: "reach", "slots", "script", "disk", "clock", ...
  std::string message;  ///< without the host's name; not escaped
  std::string hint;     ///< the next step; may be empty

  bool operator==(const HostFinding&) const = default;
};

/// A host that was asked, and what it has answered.
struct CheckedHost {
  Host host;
  Result<HostFitness> fitness;
  /// Between these its clock is ahead of that of this machine (behind it: negative): it was read at
  /// some moment of the question.
  nanoseconds clock_ahead_least{0};
  nanoseconds clock_ahead_most{0};
};

/// Judges hosts by what they need and by each other: most of them are taken to be right, and where
/// as many are of one kind as of another the kind of the first host is. Findings are by host, what
/// keeps ranks from running first.
///
/// Thresholds, and where they are from:
/// - a driver is too old for the CUDA of torch below 450.80.02 (CUDA 11), 525.60.13 (12), 580 (13):
///   "CUDA Compatibility", minor version compatibility, of NVIDIA;
/// - shared memory below 512 MiB: PyTorch's data loaders pass batches through it, and a container
///   has 64 MiB of it unless told otherwise;
/// - clocks that differ by more than a second from what most may have: certificates, file times
///   and logs of several hosts do not fit then;
/// - locked memory below 64 MiB where there is a device for RDMA, whose buffers are locked;
/// - data that is read at less than a third of the pace that the median of three hosts and more
/// has:
///   as a link of `judge_links`.
std::vector<HostFinding> judge(const std::vector<CheckedHost>& hosts);

/// What becomes of a host with these findings, and of all.
Fitness fitness_of(const std::vector<HostFinding>& findings, std::size_t host);
Fitness fitness_of(const std::vector<HostFinding>& findings);

/// Findings that several hosts have alike, in the order of the first.
struct SharedFinding {
  HostFinding finding;
  std::vector<std::size_t> hosts;
};
std::vector<SharedFinding> shared_findings(const std::vector<HostFinding>& findings);

/// The live state of the hosts, as `train hosts list` shows it.
std::vector<LiveHost> live_hosts_of(const std::vector<CheckedHost>& hosts);

/// "23.4 GB/s", of bytes per second.
std::string rate_text(std::uint64_t bytes_per_second);

/// "+2.5 s", "-1 h 3 min", "0 s" where it may be none; empty: nobody knows.
std::string clock_text(const CheckedHost& host);

/// Whether so much was read that its pace is that of the disk, and not the time that files take to
/// be opened.
bool has_pace(const DataFacts& data);

}  // namespace train
