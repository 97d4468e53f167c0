// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "backends/ssh_session/arrival_limits.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Bytes to and from an SSH server. Sending always accepts all bytes into a buffer, so that libssh2
/// never stops in the middle of a packet (it could then neither read nor write anything else), and
/// all packets of one step leave in one write. Senders must watch `pending`. A peer that sends too
/// much (ArrivalLimits) ends the stream.
class ByteStream {
 public:
  ByteStream() = default;
  virtual ~ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// An open non-blocking descriptor, which libssh2 requires.
  virtual int fd() const = 0;

  /// Begins a turn of the connection: `receive` returns at most 1 MiB until the next one.
  void begin_turn() { limits_.begin_turn(); }
  /// Whether `receive` has returned that much in this turn: there may be more, for which the
  /// descriptor will not become readable.
  bool is_turn_over() const { return limits_.left_in_turn() == 0; }
  /// Reads available bytes. Returns a count, 0 at the end, or -errno (-EAGAIN: nothing yet, or not
  /// in this turn).
  ssize_t receive(char* buffer, std::size_t size);
  /// Receives available bytes into a buffer before `receive` is called, so that the end is
  /// detected; false when they are more than 64 KiB.
  bool receive_ahead();
  /// The login was accepted: from now on the peer may send more.
  void log_in();
  /// `count` received or sent bytes were useful.
  void use(std::size_t count) { limits_.use(count); }
  /// Appends to the buffer. Always accepts everything; ends the stream when the peer reads nothing
  /// of it.
  void queue(const char* bytes, std::size_t size);
  /// Writes as much as the connection takes. After an error the buffer is dropped, and reading
  /// reports the error.
  void flush();
  std::size_t pending() const { return output_.size() - flushed_; }

  /// Stops sending; `receive` reports the end from now on.
  void shut();
  /// Whether the stream has ended (by the peer or `shut`), and with which errno, 0 for an orderly
  /// end.
  bool ended() const { return ended_; }
  int error() const { return error_; }
  /// Why it ended if the peer sent too much.
  Excess excess() const { return excess_; }
  /// Why this side ended the stream; null when the peer did.
  virtual const Error* cause() const { return nullptr; }
  /// How many bytes the peer has sent.
  std::size_t received() const { return received_; }
  /// The first bytes that the peer sent, at most 200.
  const std::string& greeting() const { return greeting_; }

 private:
  /// Returns a count of bytes, 0 at the end, or -errno (-EAGAIN: nothing now).
  virtual ssize_t read_some(char* buffer, std::size_t size) = 0;
  /// Returns a count of bytes, or -errno (-EAGAIN: none now).
  virtual ssize_t write_some(const char* bytes, std::size_t size) = 0;

  ssize_t receive_some(char* buffer, std::size_t size);
  ssize_t receive_or_take(char* buffer, std::size_t size);
  void end_for(Excess excess);
  std::size_t take_input(char* buffer, std::size_t size);

  std::string input_;
  std::size_t taken_ = 0;
  std::string output_;
  std::size_t flushed_ = 0;
  std::string greeting_;
  std::size_t received_ = 0;
  ArrivalLimits limits_;
  Excess excess_ = Excess::none;
  bool ended_ = false;
  int error_ = 0;
};

}  // namespace train
