// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/frame.hpp"

#include <fmt/format.h>

namespace train {

namespace {

constexpr std::size_t header_size = 5;

std::uint32_t read_big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void append_big_endian(std::string& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
}

std::optional<std::size_t> limit_of(unsigned char kind) {
  switch (static_cast<FrameKind>(kind)) {
    case FrameKind::control:
      return max_control_payload;
    case FrameKind::output:
      return max_output_payload;
  }
  return std::nullopt;
}

}  // namespace

std::string encode_frame(FrameKind kind, std::string_view payload) {
  std::string bytes;
  bytes.reserve(header_size + payload.size());
  append_big_endian(bytes, static_cast<std::uint32_t>(payload.size()));
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
  const std::size_t length = read_big_endian(rest);
  const auto limit = limit_of(kind);
  if (!limit || length > *limit) {
    broken_ = make_error(
        ErrorClass::host,
        limit ? fmt::format("sent a frame of {} bytes, more than the {} allowed", length, *limit)
              : fmt::format("sent a frame of unknown kind {}", kind),
        "something other than the agent of this version of train answers there");
    return tl::make_unexpected(*broken_);
  }
  if (rest.size() < header_size + length) return std::nullopt;
  Frame frame{static_cast<FrameKind>(kind), std::string(rest.substr(header_size, length))};
  consumed_ += header_size + length;
  return frame;
}

}  // namespace train
