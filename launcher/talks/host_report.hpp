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

/// What a host says of itself that was asked to look (`AgentCall::Verb::look`): what there is, and
/// who holds what of it.
struct HostReport {
  std::string lease_folder = {};    ///< where what is held is locked
  std::string lease_identity = {};  ///< hosts with the same one are one machine
  std::string lease_trouble = {};   ///< why nobody can say what is held; empty: it is known
  /// Longest first. Of GPUs it says the index as well, where the host knows it.
  std::vector<LeaseHolder> holders = {};
  int untold_holders = 0;  ///< beyond `most_reported_holders`
  /// Tasks that hold something without a lock, since somebody has removed the file with it: what
  /// they say that they hold counts. Few at most.
  std::vector<std::string> without_locks = {};
  /// What squatters have made of the names of lock files there, and what comes of it, in words. Few
  /// at most.
  std::vector<std::string> squats = {};
  /// Who waits for something of it, the first in the line first; `most_tickets` at most.
  std::vector<Ticket> tickets = {};
  std::int64_t uid = -1;  ///< whom it answers; -1: not known
  HostGpus gpus = {};
  /// By CUDA's number and that of ROCR_VISIBLE_DEVICES; empty where the driver does not say it.
  std::vector<std::string> cuda_names = {};
  std::vector<std::string> rocm_names = {};
  /// Ray's constant for NVIDIA's ("H200"), where all are of one type; else empty.
  std::string gpu_type = {};
  int cpus = 0;                  ///< that a session may run on
  std::uint64_t memory = 0;      ///< bytes of RAM; 0: not known
  std::uint64_t available = 0;   ///< bytes of it that a new program could have
  std::int64_t load_permil = 0;  ///< of the last minute: thousandths of a process that runs
  std::string driver = {};       ///< NVIDIA's version; empty: there is none

  bool operator==(const HostReport&) const = default;
};

/// The word of a look (`AgentCall::key`) at a host whose slots are held in this folder; empty: the
/// usual one. Of letters, digits and `._-`, whatever the path is made of.
std::string look_word(const std::string& lease_directory);
/// The reverse; class `host` for any other word.
Result<std::string> lease_directory_of_look(std::string_view word);

/// The most holders in a report, and bytes of one.
inline constexpr std::size_t most_reported_holders = 1'024;
inline constexpr std::size_t longest_host_report = std::size_t{4} << 20;

nlohmann::json json_of(const HostReport& report);
HostReport host_report_of(const nlohmann::json& value);

/// One line, its end included.
std::string encode_host_report(const HostReport& report);
/// The line without its end; class `host` when it is none.
Result<HostReport> decode_host_report(std::string_view line);

}  // namespace train
