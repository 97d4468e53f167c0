// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/agent/agent_process.hpp"
#include "backends/posix/descriptor.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/wire/message.hpp"
#include "launcher/wire/output_chunk.hpp"
#include "tests/backends/process/testing.hpp"

namespace train::testing {

/// How the process of an agent is made; 0 leaves what the test has.
struct AgentSetup {
  unsigned soft_limit = 0;  ///< of open descriptors
  unsigned hard_limit = 0;
  unsigned processes = 0;         ///< limit of the user's processes
  unsigned user = 0;              ///< root only
  bool lacks_signalfd = false;    ///< no descriptor is left for one; its other descriptors come
  bool may_kill_any_user = true;  ///< as root may; false for root only
  MakeContextStore make_contexts = {};
  std::uint64_t credit = most_output_window;  ///< of the first connection, for output
  std::string lease_folder = {};              ///< empty: the usual one
};

/// An agent in a process of its own, and the one launcher that is attached to it. Whatever the
/// agent leaves running is killed at the end.
class AgentUnderTest {
 public:
  explicit AgentUnderTest(const AgentSetup& setup = {});
  ~AgentUnderTest();
  AgentUnderTest(const AgentUnderTest&) = delete;
  AgentUnderTest& operator=(const AgentUnderTest&) = delete;

  int pid() const { return pid_; }
  const TemporaryDirectory& directory() const { return directory_; }
  /// Another connection to the agent's socket.
  Descriptor connect() const;

  /// What an agent that has gone does not read is lost, as it is for a launcher.
  void send(const Message& message) { send_bytes(frame_of(message)); }
  void send_bytes(std::string_view bytes);
  /// Goes away without a word.
  void hang_up() { connection_.reset(); }
  /// Attaches on another connection: output goes on where what was taken ends. The one before
  /// stays open, where it has not been hung up, and nothing of it is read any more.
  void reconnect();

  /// The next frame of the agent; nothing when it has ended the connection. Throws after ten
  /// seconds of silence.
  std::optional<Frame> next_frame();
  /// Reads up to the next message of this type. Output on the way is kept, and acknowledged.
  template <class Wanted>
  Wanted next() {
    while (true) {
      const Message message = next_message();
      if (const auto* wanted = std::get_if<Wanted>(&message)) return *wanted;
    }
  }
  /// The same, of the first of these types that comes.
  template <class... Wanted>
  std::variant<Wanted...> next_of() {
    while (true) {
      const Message message = next_message();
      std::optional<std::variant<Wanted...>> found;
      const auto look = [&](const auto* wanted) {
        if (wanted != nullptr) found = *wanted;
      };
      (look(std::get_if<Wanted>(&message)), ...);
      if (found) return *found;
    }
  }
  /// The same, about this attempt.
  template <class Wanted>
  Wanted next(AttemptId of) {
    while (true)
      if (Wanted message = next<Wanted>(); message.of == of) return message;
  }
  /// The next message, of whatever type. Output on the way is kept, and acknowledged.
  Message next_message();
  /// The same, but a chunk of output is an answer as well, as Bye, which no agent says.
  Message next_message_or_output();
  /// True when the agent ends the connection.
  bool is_hung_up();
  /// The agent's exit status, or minus its signal.
  int wait();

  /// Ranks 0 and up, one for each script, which run in the test's directory.
  message::Prepare prepare(const std::vector<std::string>& scripts) const;
  /// Prepares them, waits for Ready, and says go.
  void start(const std::vector<std::string>& scripts, AttemptId of = {});

  /// What ranks printed on both streams so far.
  const std::string& output() const { return output_; }
  /// The same of one of them, with '?' for each byte that was dropped.
  const std::string& output_of(int rank, AttemptId of = {}) { return outputs_[{of, rank}]; }

 private:
  void take_output(const Frame& frame);

  TemporaryDirectory directory_;
  int pid_ = -1;
  bool is_collected_ = false;
  Descriptor connection_;
  Descriptor cut_off_;  ///< the one before
  FrameDecoder decoder_{FrameSender::agent};
  std::string output_;
  std::map<std::pair<AttemptId, int>, std::string> outputs_;  ///< by attempt and rank
  std::uint64_t connections_ = 0;
  // Of this connection:
  std::uint64_t last_chunk_ = 0;
  std::uint64_t received_ = 0;  ///< cost of its output
};

/// For a script: leaves every session, parent and pipe of its rank; found by the name of its file.
std::string daemon(const std::string& name);
/// The number that such a process has written there. Throws where none comes.
int process_in(const AgentUnderTest& agent, const std::string& name);
struct RankWithDaemon {
  int rank;
  int daemon;
};
/// Starts an attempt of one rank, which sleeps, and a daemon of this name. Returns when the agent
/// has told of the rank: what ends an attempt before that, ends it as one that has not started.
RankWithDaemon start_with_daemon(AgentUnderTest& agent, const std::string& name, AttemptId of);
/// The child of the agent that `pid` is below, whatever is between the two: a daemon's parent may
/// not have ended yet when it has written its number. 0 where there is none.
int subreaper_above(int pid, const AgentUnderTest& agent);

}  // namespace train::testing
