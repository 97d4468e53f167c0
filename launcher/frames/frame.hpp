// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

/// What a frame carries. A frame is a 32-bit big-endian payload length, one byte of kind, and the
/// payload.
enum class FrameKind : std::uint8_t {
  control = 1,  ///< one JSON message (wire/message.hpp)
  output = 2,   ///< an OutputChunk: raw bytes of a rank
  context = 3,  ///< a piece of a packed context; a piece that is not full is the last
};

/// A kind of frame with its payload, which belongs to the decoder.
struct Frame {
  FrameKind kind = FrameKind::control;
  std::string_view payload;

  bool operator==(const Frame&) const = default;
};

/// Which side a stream of frames comes from.
enum class FrameSender { launcher, agent };

/// Largest payloads that are accepted from the other side, in bytes. The launcher sends the
/// environments of all ranks of a host at once. An agent may send little (wire/message_limits.hpp):
/// parsed JSON takes thirty times as much memory.
constexpr std::size_t max_control_payload = 16u << 20;
constexpr std::size_t max_agent_control_payload = 256u << 10;
constexpr std::size_t max_output_payload = 256u << 10;
constexpr std::size_t max_context_payload = 256u << 10;

/// The frame as bytes for the stream. The payload must be within its limit.
std::string encode_frame(FrameKind kind, std::string_view payload);

/// An error of class `host`: the other side `did` something ("sent ...") that an agent never does.
Error not_our_protocol(std::string did);

/// Splits a byte stream, which comes in pieces of any size, into frames. Holds at most one frame.
/// After an error the stream is unusable, and every further call repeats the error.
class FrameDecoder {
 public:
  explicit FrameDecoder(FrameSender sender) : sender_(sender) {}

  /// Appends bytes of the stream.
  void feed(std::string_view bytes);
  /// The next whole frame; nothing if more bytes are needed; an error of class `host` for an
  /// unknown kind or a length above the limit, detected before the payload is stored. The payload
  /// is valid until the next call of `feed`.
  Result<std::optional<Frame>> next();

 private:
  FrameSender sender_;
  std::string buffer_;
  std::size_t consumed_ = 0;
  std::optional<Error> broken_;
};

}  // namespace train
