// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/process/process_tree.hpp"
#include "backends/process/spawner.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// How an agent and the process of a `Subreaper` speak, which is a copy of the agent: the same
/// program, so records are what they are in memory. Each is one packet of a socket that keeps them
/// apart (SOCK_SEQPACKET). There are two such sockets: one for records of either side at any
/// moment, one for ranks that are started, each of which is answered before the next one.

/// What the agent says.
struct SubreaperCommand {
  enum class Kind : std::uint32_t { signal_rank, kill_all };
  Kind kind = Kind::signal_rank;
  std::int32_t pid = 0;
  std::int32_t signal = 0;
};

/// What the process says: a rank has ended; one process is left; everything but those is gone.
/// Where nothing is left it is as new after that, for another attempt.
struct SubreaperNews {
  enum class Kind : std::uint32_t { rank_ended, survivor, gone };
  Kind kind = Kind::gone;
  std::int32_t pid = 0;
  std::int32_t code = -1;    ///< -1: none
  std::int32_t signal = -1;  ///< -1: none
  std::uint32_t dumped_core = 0;
  std::uint32_t uid = 0;
  std::int64_t at = 0;   ///< nanoseconds of CLOCK_BOOTTIME
  std::int64_t cpu = 0;  ///< as ExitStatus has it, in nanoseconds
  std::uint64_t largest_memory = 0;
  char command[1024] = {};  ///< of a survivor; only what it has of text is sent
};
SubreaperNews news_of(int pid, const ExitStatus& status);
SubreaperNews news_of(const Survivor& survivor);
ExitStatus status_in(const SubreaperNews& news);
Survivor survivor_in(const SubreaperNews& news);

/// One end of the socket for records. Never blocks.
class SubreaperTalk {
 public:
  explicit SubreaperTalk(Descriptor socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.get(); }
  /// For another of these, which begins where this one ends. Nothing waits in this one.
  Descriptor take_socket() { return std::move(socket_); }
  /// What there is no room for now waits; `has_waiting` says so, and `flush` tries again. What is
  /// said once the other side has gone goes nowhere.
  void say(const SubreaperCommand& command);
  void say(const SubreaperNews& news);
  void flush();
  bool has_waiting() const { return !waiting_.empty(); }
  /// The next record, if one has come.
  std::optional<SubreaperCommand> hear_command();
  std::optional<SubreaperNews> hear_news();
  /// The other side has gone, and all that it said was heard.
  bool is_over() const { return is_over_; }

 private:
  void say(const void* record, std::size_t size);
  bool hear(void* record, std::size_t size);

  Descriptor socket_;
  std::deque<std::string> waiting_;
  bool is_over_ = false;
};

/// The agent's side of a start: asks for it, and waits for the answer. Nothing when the process has
/// gone. Class `host` when this process lacks what the question takes. It is asked for by the
/// `attempt`-th that the process is had by, from 0 on.
Result<std::optional<ChildAnswer>> ask_for_child(int socket, const ChildRequest& request,
                                                 std::uint32_t attempt);

/// A start that was asked for, as the process has it.
struct AskedChild {
  ProcessSpec spec;
  Descriptor output;
  Descriptor errors;
  Descriptor cgroup;
  std::optional<rlimit> open_files;
  bool joins_cgroup = false;
  std::uint32_t attempt = 0;
  int error = 0;  ///< errno when this process could not take what came with it
};
/// Waits for the next one; nothing when the agent has gone.
std::optional<AskedChild> await_child_request(int socket);
/// False when the agent has gone.
bool answer_child_request(int socket, const ChildAnswer& answer);

}  // namespace train
