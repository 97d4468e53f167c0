// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/lease/lease.hpp"
#include "launcher/lease/ticket.hpp"
#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

/// The answer of a host to a look (`AgentCall::Verb::look`): what it has, and who holds what of it.
struct HostReport {
  std::string lease_folder = {};    ///< the folder with the locks
  std::string lease_identity = {};  ///< hosts with the same identity are one machine
  std::string lease_trouble = {};   ///< why it is not known what is held; empty: it is known
  /// Longest first. For GPUs also with the index, if the host knows it.
  std::vector<LeaseHolder> holders = {};
  int untold_holders = 0;  ///< number of holders beyond `most_reported_holders`
  /// Tasks that hold something without a lock, since the lock file was removed: their holder files
  /// count. A few at most.
  std::vector<std::string> without_locks = {};
  /// What other users have put in place of lock files, and the consequences, in words. A few at
  /// most.
  std::vector<std::string> squats = {};
  /// The waiting tasks, first in the line first; `most_tickets` at most.
  std::vector<Ticket> tickets = {};
  std::int64_t uid = -1;  ///< the user that it answers; -1: not known
  HostGpus gpus = {};
  /// By CUDA's number and by that of ROCR_VISIBLE_DEVICES; empty if the driver does not report it.
  std::vector<std::string> cuda_names = {};
  std::vector<std::string> rocm_names = {};
  /// Ray's constant for the type of the NVIDIA GPUs ("H200"), if all are of one type; else empty.
  std::string gpu_type = {};
  int cpus = 0;                  ///< that a session may use
  std::uint64_t memory = 0;      ///< bytes of RAM; 0: not known
  std::uint64_t available = 0;   ///< bytes of it that a new program could get
  std::int64_t load_permil = 0;  ///< of the last minute: thousandths of a running process
  std::string driver = {};       ///< NVIDIA's version; empty: there is none

  bool operator==(const HostReport&) const = default;
};

/// The word of a look (`AgentCall::key`) at a host whose leases are in this folder; empty: the
/// usual folder. It consists of letters, digits and `._-` for any path.
std::string look_word(const std::string& lease_directory);
/// The reverse; class `host` for any other word.
Result<std::string> lease_directory_of_look(std::string_view word);

/// Limits of the holders in a report, and of its size in bytes.
inline constexpr std::size_t most_reported_holders = 1'024;
inline constexpr std::size_t longest_host_report = std::size_t{4} << 20;

nlohmann::json json_of_report(const HostReport& report);
HostReport report_of_json(const nlohmann::json& value);

/// Encodes one line, with its newline.
std::string encode_host_report(const HostReport& report);
/// Decodes the line without its newline; class `host` if it is malformed.
Result<HostReport> decode_host_report(std::string_view line);

}  // namespace train
