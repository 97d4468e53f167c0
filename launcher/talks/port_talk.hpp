// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"
#include "launcher/frames/frame.hpp"

namespace train {

/// What the other side of a PortTalk has said of a connection.
struct PortEvent {
  enum class Kind {
    opened,  ///< it is to be connected with the port
    bytes,   ///< they are in `payload`
    end,     ///< no more bytes come
    reset,   ///< it is over; `payload` says why, for people, or is empty
  };
  Kind kind = Kind::opened;
  std::uint32_t connection = 0;
  std::string_view payload;  ///< valid until the next call of `feed`
};

/// One side of the stream between `train forward` and `train connect-port` beside a rank: TCP
/// connections to one port, as frames of kind `output`. The payload of each is a byte for what it
/// says (open, bytes, end, taken, reset), the number of the connection in four bytes, and the rest.
///
/// Numbers grow, and none is used twice. A side may send `window` bytes of a connection beyond what
/// the other side has said to be taken, so that no connection waits for another one's reader. A
/// connection is over once both sides have ended it and taken all its bytes, or once one side
/// resets it; what was on its way then is ignored. Anything else that does not fit is an error, of
/// class `host`, after which the stream is unusable.
class PortTalk {
 public:
  enum class Side { opens, answers };
  static constexpr std::size_t most_connections = 64;
  static constexpr std::size_t window = 256u << 10;
  static constexpr std::size_t longest_piece = 64u << 10;  ///< of bytes, in one frame

  explicit PortTalk(Side side) : side_(side) {}

  // What this side says. Of a connection that is over, nothing is said.

  /// A new connection, for the side that opens; at most `most_connections` at a time.
  std::uint32_t open();
  /// Bytes of a connection: at most `room` and `longest_piece`.
  void send(std::uint32_t connection, std::string_view bytes);
  /// No more bytes will be sent.
  void end(std::uint32_t connection);
  /// Ends both directions now. The words are for people, and are cut.
  void reset(std::uint32_t connection, std::string_view words = {});
  /// So many more bytes of those that arrived went on to their reader.
  void took(std::uint32_t connection, std::size_t bytes);
  /// All frames that are to be sent now. To be called once the stream takes more: what was taken by
  /// then is said in one frame for each connection.
  std::string take_frames();

  // What the other side says.

  void feed(std::string_view bytes) { decoder_.feed(bytes); }
  /// The next event; nothing if more bytes are needed.
  Result<std::optional<PortEvent>> next();

  bool is_open(std::uint32_t connection) const { return connections_.contains(connection); }
  /// How many bytes of a connection may be sent now: none once it is over or ended.
  std::size_t room(std::uint32_t connection) const;
  std::size_t size() const { return connections_.size(); }

 private:
  struct Connection {
    std::size_t in_flight = 0;  ///< bytes sent, and not taken as far as known
    std::size_t arrived = 0;    ///< bytes received, and not said to be taken
    std::size_t taken = 0;      ///< of these, taken
    bool has_ended = false;     ///< this side sends no more
    bool peer_has_ended = false;
  };
  using Connections = std::map<std::uint32_t, Connection>;

  Result<std::optional<PortEvent>> take(const Frame& frame);
  Result<std::optional<PortEvent>> take_open(std::uint32_t connection);
  void forget_if_over(Connections::iterator at);

  const Side side_;
  FrameDecoder decoder_{FrameSender::agent};  // what it limits is right both ways
  std::uint32_t last_ = 0;                    ///< number of the newest connection
  Connections connections_;
  std::string frames_;  ///< to be sent
};

}  // namespace train
