// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/fitness/device_report.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/talks/host_report.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// The request to a host that is checked (`AgentCall::Verb::check`), one line.
struct FitnessRequest {
  std::string lease_directory = {};  ///< as in a look request; empty: the usual one
  /// The command of a rank on this host, with the environment as known before a launch; nothing:
  /// the host is not checked for an experiment.
  std::optional<RankCommand> rank = {};
  int ranks = 0;  ///< maximum number of ranks that will start there
  /// A context will bring directory and script, so they are not checked.
  bool brings_context = false;
  /// A directory whose files are read to measure the pace; empty: none.
  std::string data_directory = {};

  bool operator==(const FitnessRequest&) const = default;
};

/// The value of `DiskFacts::use` for the file system in which programs share memory.
inline constexpr std::string_view shared_memory_use = "shared memory";

/// A file system that ranks or agents write to.
struct DiskFacts {
  std::string use = {};   ///< "temporary files", "shared memory", "home"
  std::string path = {};  ///< the path that was checked
  std::uint64_t size = 0;
  std::uint64_t free = 0;        ///< bytes that this user may still write
  std::int64_t free_files = -1;  ///< files that this user may still create; -1: not counted
  std::string trouble = {};      ///< why the user cannot write there; empty: the user can

  bool operator==(const DiskFacts&) const = default;
};

/// The pace at which the files of a directory are read.
struct DataFacts {
  std::string directory = {};
  std::uint64_t bytes = 0;  ///< bytes that were read
  nanoseconds took{0};
  std::string trouble = {};  ///< why nothing was read; empty if it was

  /// Bytes per second.
  std::uint64_t pace() const;
  bool operator==(const DataFacts&) const = default;
};

/// A port of an RDMA device, as the kernel reports it.
struct RdmaPort {
  std::string name = {};   ///< its device and number: "mlx5_0/1"
  std::string state = {};  ///< "ACTIVE", "DOWN", "INIT" (no subnet manager), ...
  std::string rate = {};   ///< "200 Gb/sec (4X HDR)"
  std::string layer = {};  ///< "InfiniBand", or "Ethernet": RoCE

  bool is_active() const { return state == "ACTIVE"; }
  bool operator==(const RdmaPort&) const = default;
};

/// A Python, and its packages that must agree on all hosts.
struct PythonFacts {
  std::string program = {};  ///< absolute path
  std::string version = {};  ///< "3.11.2"
  /// By name, from the installed distributions: "torch" -> "2.4.0+cu121". No package is imported.
  std::map<std::string, std::string> packages = {};
  /// The CUDA that torch was built with: "12.1"; empty: without CUDA, or no torch.
  std::string torch_cuda = {};
  std::string trouble = {};  ///< why it reports nothing

  bool operator==(const PythonFacts&) const = default;
};

/// The report of a checked host about itself.
struct HostFitness {
  HostReport host = {};
  std::int64_t wall_ns = 0;  ///< its clock when it answered, since the Unix epoch
  std::string name = {};     ///< the kernel's host name
  /// The addresses that the name resolves to on the host; empty with a reason, or if the host
  /// cannot resolve names.
  std::vector<std::string> name_addresses = {};
  std::string name_trouble = {};
  std::vector<DiskFacts> disks = {};
  std::int64_t memory_lock = -1;    ///< bytes that a process may lock; -1: no limit
  std::int64_t open_files = -1;     ///< hard limit of open files per process; -1: no limit
  std::vector<RdmaPort> rdma = {};  ///< by name
  std::optional<DataFacts> data = {};
  DeviceReport devices = {};  ///< empty if there is no NVIDIA driver
  /// Why the driver gave no report: for example, it did not answer in time.
  std::string devices_trouble = {};
  /// Problems that would prevent ranks from starting; only `message` and `hint` are sent.
  std::vector<Diagnostic> problems = {};
  // About the rank's program, if there is one and it was found.
  std::string program = {};  ///< absolute path
  std::string program_sha256 = {};
  std::string script = {};  ///< as named in the entrypoint; empty: the program runs no script
  std::string script_sha256 = {};
  std::optional<PythonFacts> python = {};

  bool operator==(const HostFitness&) const = default;
};

/// The maximum length of `FitnessRequest::data_directory` in bytes.
inline constexpr std::size_t longest_data_directory = 4'096;

/// The maximum length of one line in bytes.
inline constexpr std::size_t longest_fitness_request = std::size_t{4} << 20;
inline constexpr std::size_t longest_host_fitness =
    longest_host_report + longest_device_report + (std::size_t{1} << 20);

/// One line, including its newline; the inverses take the line without its newline: class `host` if
/// it is invalid.
std::string encode_fitness_request(const FitnessRequest& request);
Result<FitnessRequest> decode_fitness_request(std::string_view line);
std::string encode_host_fitness(const HostFitness& fitness);
Result<HostFitness> decode_host_fitness(std::string_view line);

}  // namespace train
