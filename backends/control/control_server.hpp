// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/acceptor.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"
#include "launcher/control/control_talk.hpp"

namespace train {

/// Serves the control socket of a task from a loop, without blocking. At most 16 connections: when
/// there are more, the oldest is closed. A client has 10 s for each request, and to take each
/// answer.
class ControlServer {
 public:
  /// Carries out a request and returns the answer. Called from the loop.
  using Handler = std::function<ControlAnswer(const ControlRequest&)>;

  /// Listens at `path`; errors are those of `listen_at`.
  static Result<std::unique_ptr<ControlServer>> open(
      Loop& loop, const std::string& path, const ControlGreeting& greeting, Handler handler,
      nanoseconds patience = std::chrono::seconds(10));
  /// Removes the socket, unless another supervisor has put its own there.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  struct Client {
    Descriptor socket;
    std::string heard;   ///< the received part of a line
    std::string unsent;  ///< no requests are read until this is sent
    std::unique_ptr<Subscription> readable;
    std::unique_ptr<Subscription> writable;
    std::unique_ptr<Subscription> patience;
  };

  ControlServer(Loop& loop, std::string path, Descriptor listening, const ControlGreeting& greeting,
                Handler handler, nanoseconds patience);

  void accept(Descriptor socket);
  void make_room();
  void read(int client);
  void send(int client, const std::string& text);
  void write(int client);
  void be_patient(int client);
  void close(int client);

  Loop& loop_;
  const std::string path_;
  struct stat made_ {};  ///< identifies the socket at `path_`
  const Descriptor listening_;
  const std::string greeting_;
  const Handler handler_;
  const nanoseconds patience_;
  std::map<int, Client> clients_;  ///< by number, in order of arrival
  int last_ = 0;
  std::vector<Client> dropped_;  ///< destroyed outside of their callbacks
  std::unique_ptr<Subscription> dropping_;
  Acceptor acceptor_;
};

}  // namespace train
