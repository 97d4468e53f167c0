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

/// What a host is told that is to be checked (`AgentCall::Verb::check`), in one line.
struct FitnessRequest {
  std::string lease_directory = {};  ///< as of a look; empty: the usual one
  /// As a rank would start there, with what is known of its environment before a launch; nothing:
  /// the host is checked for no experiment.
  std::optional<RankCommand> rank = {};
  int ranks = 0;  ///< that are to start there, at most
  /// A context brings directory and script: they are not looked for.
  bool brings_context = false;
  /// Of a directory whose files are read, to see at which pace; empty: of none.
  std::string data_directory = {};

  bool operator==(const FitnessRequest&) const = default;
};

/// What `DiskFacts::use` says of the file system in which programs share memory.
inline constexpr std::string_view shared_memory_use = "shared memory";

/// A file system that ranks or agents write to.
struct DiskFacts {
  std::string use = {};   ///< "temporary files", "shared memory", "home"
  std::string path = {};  ///< which of its paths is meant
  std::uint64_t size = 0;
  std::uint64_t free = 0;        ///< bytes of it that this user may fill
  std::int64_t free_files = -1;  ///< likewise; -1: not counted
  std::string trouble = {};      ///< why nothing can be written there; empty: it can

  bool operator==(const DiskFacts&) const = default;
};

/// At which pace the files of a directory are read.
struct DataFacts {
  std::string directory = {};
  std::uint64_t bytes = 0;  ///< that were read
  nanoseconds took{0};
  std::string trouble = {};  ///< why nothing was read; empty: it was

  /// Bytes per second.
  std::uint64_t pace() const;
  bool operator==(const DataFacts&) const = default;
};

/// A port of a device for RDMA, as the kernel has it.
struct RdmaPort {
  std::string name = {};   ///< of its device and its number: "mlx5_0/1"
  std::string state = {};  ///< "ACTIVE", "DOWN", "INIT" (nobody manages the subnet), ...
  std::string rate = {};   ///< "200 Gb/sec (4X HDR)"
  std::string layer = {};  ///< "InfiniBand", or "Ethernet": RoCE

  bool is_active() const { return state == "ACTIVE"; }
  bool operator==(const RdmaPort&) const = default;
};

/// A Python, and the packages on which ranks of all hosts have to agree.
struct PythonFacts {
  std::string program = {};  ///< absolute path
  std::string version = {};  ///< "3.11.2"
  /// By name, as its distributions say: "torch" -> "2.4.0+cu121". No package is imported.
  std::map<std::string, std::string> packages = {};
  std::string torch_cuda = {};  ///< "12.1", with which torch was built; empty: without, or no torch
  std::string trouble = {};     ///< why it does not say it

  bool operator==(const PythonFacts&) const = default;
};

/// What a checked host says of itself.
struct HostFitness {
  HostReport host = {};
  std::int64_t wall_ns = 0;  ///< its clock when it answered, since the Unix epoch
  std::string name = {};     ///< the kernel's
  /// What that name means there, by all that the system asks; empty with a reason, or where nothing
  /// can be asked.
  std::vector<std::string> name_addresses = {};
  std::string name_trouble = {};
  std::vector<DiskFacts> disks = {};
  std::int64_t memory_lock = -1;    ///< bytes that a process may lock; -1: without a limit
  std::int64_t open_files = -1;     ///< descriptors of a process, the hard limit; -1 likewise
  std::vector<RdmaPort> rdma = {};  ///< by name
  std::optional<DataFacts> data = {};
  DeviceReport devices = {};  ///< empty where no driver of NVIDIA is
  /// Why its driver was not heard: it has not answered in time, say.
  std::string devices_trouble = {};
  /// What would keep ranks from starting; only `message` and `hint` are sent.
  std::vector<Diagnostic> problems = {};
  // Of the rank's program, where there is one and it was found.
  std::string program = {};  ///< absolute path
  std::string program_sha256 = {};
  std::string script = {};  ///< as the entrypoint names it; empty: it runs none
  std::string script_sha256 = {};
  std::optional<PythonFacts> python = {};

  bool operator==(const HostFitness&) const = default;
};

/// Bytes of `FitnessRequest::data_directory` at most.
inline constexpr std::size_t longest_data_directory = 4'096;

/// Bytes of one line at most.
inline constexpr std::size_t longest_fitness_request = std::size_t{4} << 20;
inline constexpr std::size_t longest_host_fitness =
    longest_host_report + longest_device_report + (std::size_t{1} << 20);

/// One line, its end included; and the reverse, of the line without its end: class `host` when it
/// is none.
std::string encode_fitness_request(const FitnessRequest& request);
Result<FitnessRequest> decode_fitness_request(std::string_view line);
std::string encode_host_fitness(const HostFitness& fitness);
Result<HostFitness> decode_host_fitness(std::string_view line);

}  // namespace train
