// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/unsent_output.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/talks/port_talk.hpp"

namespace train {

/// The connections of `train forward` at one end of their stream: copies bytes between their
/// sockets and the stream, until that ends.
class PortConnections {
 public:
  class Observer {
   public:
    virtual ~Observer() = default;
    /// The other end could not connect; the words come from there. The same words are said again
    /// only after something has arrived.
    virtual void refused(const std::string& why) = 0;
    /// The stream is of no use any more: it has ended, or an error says what the other end did.
    /// What has arrived is still written.
    virtual void ended(const Result<void>& how) = 0;
    /// There may be fewer connections than before. None of the calls may destroy the connections.
    virtual void changed() = 0;
  };

  /// `input` and `output` are the stream, and become non-blocking. With a `port`, the other end
  /// opens connections, each with that port of this machine's loopback; without, `add` does.
  /// SIGPIPE must be ignored. All that is given must outlive this object.
  PortConnections(Loop& loop, int input, int output, std::optional<int> port, Observer& observer);
  PortConnections(const PortConnections&) = delete;
  PortConnections& operator=(const PortConnections&) = delete;

  /// A socket to be copied to and from; non-blocking. At most `PortTalk::most_connections`.
  void add(Descriptor socket);
  std::size_t size() const { return connections_.size(); }

 private:
  struct Connection {
    Descriptor socket;
    std::string waiting = {};  ///< has arrived, and is not written yet
    bool is_connecting = false;
    std::size_t tried = 0;        ///< addresses of the loopback
    int error = 0;                ///< errno of the first of them
    bool peer_has_ended = false;  ///< nothing more will arrive
    std::unique_ptr<Subscription> readable = {};
    std::unique_ptr<Subscription> writable = {};
  };

  bool is_open(std::uint32_t number) const { return !is_over_ && talk_.is_open(number); }
  bool has_room() const;
  void receive();
  void handle(const PortEvent& event);
  void connect(std::uint32_t number, Connection& connection);
  void read(std::uint32_t number);
  void write(std::uint32_t number, Connection& connection);
  void go_on(std::uint32_t number);
  void end(const Result<void>& how);
  void settle();

  Loop& loop_;
  const int input_;
  const int output_;
  const std::optional<int> port_;
  Observer& observer_;
  PortTalk talk_;
  UnsentOutput unsent_;
  bool is_over_ = false;
  std::string refused_;  ///< what the observer was told
  std::map<std::uint32_t, Connection> connections_;
  std::unique_ptr<Subscription> readable_;
  std::unique_ptr<Subscription> writable_;
};

/// Connects the stream on standard input and output, whose other end is `train forward`, with this
/// port of this machine's loopback, until it ends. Class `host` if the other end does what it may
/// not.
Result<void> connect_streams_to_port(int port);

}  // namespace train
