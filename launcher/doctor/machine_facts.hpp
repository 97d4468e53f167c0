// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/fitness/host_fitness.hpp"

namespace train {

/// A file or folder that must be the user's own.
struct PrivatePath {
  std::string path = {};
  bool exists = false;
  bool is_own = true;        ///< belongs to this user, or to root
  unsigned mode = 0;         ///< its permission bits
  std::string trouble = {};  ///< why this user cannot read it; empty: it can be read
};

/// What a logout of the user does to a detached launcher.
enum class LogoutEffect { none, kills_session, ends_manager };

/// A limit of processes, and how many count against it.
struct ProcessLimit {
  std::string name;  ///< with the command that shows it: "processes, ulimit -u"
  std::int64_t used = 0;
  std::int64_t most = 0;
};

/// What the machine on which launchers run says of itself.
struct MachineFacts {
  // OpenSSH's client
  std::string ssh_program = {};  ///< absolute path; empty: not found
  std::string ssh_version = {};  ///< "OpenSSH_9.2p1"; empty: it does not say
  PrivatePath ssh_folder = {};
  PrivatePath ssh_config = {};
  std::optional<Error> ssh_config_error = {};  ///< why ssh, or train, cannot use it
  PrivatePath known_hosts = {};
  std::vector<PrivatePath> keys = {};  ///< those that exist
  std::string agent_socket = {};       ///< empty: none
  std::size_t agent_keys = 0;
  std::optional<Error> agent_error = {};
  // The hosts file
  std::string hosts_file = {};  ///< empty: none is named
  std::size_t hosts = 0;
  bool needs_openssh = false;  ///< one of them has `transport: openssh`
  std::optional<Error> hosts_error = {};
  // The user's file of defaults
  std::string user_file = {};  ///< its path; empty: no home directory
  bool has_user_file = false;
  std::optional<Error> user_file_error = {};  ///< why it is not used
  // The record of tasks
  PrivatePath state = {};
  std::optional<Error> state_error = {};     ///< why there is no place for it
  bool is_state_shared = false;              ///< by several machines
  std::optional<DiskFacts> state_disk = {};  ///< of the folder, or the nearest that exists
  std::optional<Error> registry_error = {};
  std::size_t tasks = 0;                     ///< that have not ended
  std::vector<std::string> unattended = {};  ///< ids of those whose launcher has died
  // The machine
  LogoutEffect logout = LogoutEffect::none;
  /// The hard limit of open files, to which train raises its own; nothing: none.
  std::optional<std::uint64_t> open_files = {};
  std::optional<ProcessLimit> processes = {};      ///< the tightest; nothing: none
  std::optional<bool> is_clock_synchronized = {};  ///< nothing: the kernel does not say
  int year = 0;                                    ///< by the clock, in UTC
  DiskFacts temporary = {};
};

}  // namespace train
