// SPDX-License-Identifier: Apache-2.0
#include "launcher/frames/frame.hpp"

#include <fmt/format.h>

#include "launcher/frames/big_endian.hpp"

namespace train {

namespace {

constexpr std::size_t header_size = 5;

std::optional<std::size_t> limit_of(unsigned char kind, FrameSender sender) {
  switch (static_cast<FrameKind>(kind)) {
    case FrameKind::control:
      return sender == FrameSender::agent ? max_agent_control_payload : max_control_payload;
    case FrameKind::output:
      return max_output_payload;
    case FrameKind::context:
      return max_context_payload;
  }
  return std::nullopt;
}

}  // namespace

Error not_our_protocol(std::string did) {
  return make_error(ErrorClass::host, std::move(did),
                    "something other than the agent of this version of train answers there");
}

std::string encode_frame(FrameKind kind, std::string_view payload) {
  std::string bytes;
  bytes.reserve(header_size + payload.size());
  append_big_endian(bytes, payload.size(), 4);
  bytes += static_cast<char>(kind);
  bytes += payload;
  return bytes;
}

void FrameDecoder::feed(std::string_view bytes) {
  if (broken_) return;
  if (consumed_ == buffer_.size()) {
    buffer_.clear();
    consumed_ = 0;
  } else if (consumed_ > buffer_.size() / 2) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  buffer_ += bytes;
}

Result<std::optional<Frame>> FrameDecoder::next() {
  if (broken_) return tl::make_unexpected(*broken_);
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  if (rest.size() < header_size) return std::nullopt;
  const auto kind = static_cast<unsigned char>(rest[4]);
  const std::size_t length = read_big_endian(rest.substr(0, 4));
  const auto limit = limit_of(kind, sender_);
  if (!limit || length > *limit) {
    broken_ = not_our_protocol(
        limit ? fmt::format("sent a frame of {} bytes, more than the {} allowed", length, *limit)
              : fmt::format("sent a frame of unknown kind {}", kind));
    return tl::make_unexpected(*broken_);
  }
  if (rest.size() < header_size + length) return std::nullopt;
  const Frame frame{static_cast<FrameKind>(kind), rest.substr(header_size, length)};
  consumed_ += header_size + length;
  return frame;
}

}  // namespace train
