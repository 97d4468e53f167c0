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

/// The protocol between an agent and the process of a `Subreaper`. Both run the same program, so
/// records are sent as they are in memory, each as one packet (SOCK_SEQPACKET). There are two
/// sockets: one for records, which either side sends at any moment, and one for start requests,
/// each of which is answered before the next one.

/// A record of the agent.
struct SubreaperCommand {
  enum class Kind : std::uint32_t { signal_rank, kill_all };
  Kind kind = Kind::signal_rank;
  std::int32_t pid = 0;
  std::int32_t signal = 0;
};

/// A record of the process: a rank has ended; one process has survived; everything except the
/// survivors is gone. If nothing has survived, the process can serve another attempt after that.
struct SubreaperNews {
  enum class Kind : std::uint32_t { rank_ended, survivor, gone };
  Kind kind = Kind::gone;
  std::int32_t pid = 0;
  std::int32_t code = -1;    ///< -1: none
  std::int32_t signal = -1;  ///< -1: none
  std::uint32_t dumped_core = 0;
  std::uint32_t uid = 0;
  std::int64_t at = 0;   ///< nanoseconds of CLOCK_BOOTTIME
  std::int64_t cpu = 0;  ///< as in ExitStatus, in nanoseconds
  std::uint64_t largest_memory = 0;
  char command[1024] = {};  ///< of a survivor; only the used part is sent
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
  /// Moves the socket out, for another SubreaperTalk. No record may be waiting in this one.
  Descriptor take_socket() { return std::move(socket_); }
  /// Records that the socket has no room for wait; `has_waiting` reports that, and `flush` tries
  /// again. Records sent after the other side has gone are dropped.
  void send(const SubreaperCommand& command);
  void send(const SubreaperNews& news);
  void flush();
  bool has_waiting() const { return !waiting_.empty(); }
  /// The next record, if one has come.
  std::optional<SubreaperCommand> receive_command();
  std::optional<SubreaperNews> receive_news();
  /// The other side has gone, and all its records were read.
  bool is_over() const { return is_over_; }

 private:
  void send(const void* record, std::size_t size);
  bool receive(void* record, std::size_t size);

  Descriptor socket_;
  std::deque<std::string> waiting_;
  bool is_over_ = false;
};

/// The agent's side of a start: sends the request and waits for the answer. `nullopt` when the
/// process has gone. Class `host` when this process lacks the resources for the request. `attempt`:
/// the number of the requesting attempt among those that have used the process, from 0 on.
Result<std::optional<ChildAnswer>> ask_for_child(int socket, const ChildRequest& request,
                                                 std::uint32_t attempt);

/// A start request, as the process receives it.
struct AskedChild {
  ProcessSpec spec;
  Descriptor output;
  Descriptor errors;
  Descriptor cgroup;
  std::optional<rlimit> open_files;
  bool joins_cgroup = false;
  std::uint32_t attempt = 0;
  int error = 0;  ///< errno when this process could not receive its descriptors or text
};
/// Waits for the next request; `nullopt` when the agent has gone.
std::optional<AskedChild> await_child_request(int socket);
/// False when the agent has gone.
bool answer_child_request(int socket, const ChildAnswer& answer);

}  // namespace train
