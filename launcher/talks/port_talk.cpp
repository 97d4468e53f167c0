// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/port_talk.hpp"

#include <fmt/format.h>

#include <cassert>
#include <utility>

#include "launcher/frames/big_endian.hpp"

namespace train {

namespace {

enum class PortFrame : unsigned char { open = 1, bytes = 2, end = 3, taken = 4, reset = 5 };

constexpr std::size_t number_size = 4;
constexpr std::size_t port_header_size = 1 + number_size;
constexpr std::size_t longest_reason = 1'024;

std::string port_frame(PortFrame what, std::uint32_t connection, std::string_view rest = {}) {
  std::string payload(1, static_cast<char>(what));
  append_big_endian(payload, connection, number_size);
  return encode_frame(FrameKind::output, payload.append(rest));
}

tl::unexpected<Error> violation(std::string did) {
  return tl::make_unexpected(not_our_protocol(std::move(did)));
}

}  // namespace

std::uint32_t PortTalk::open() {
  assert(side_ == Side::opens && connections_.size() < most_connections);
  connections_.emplace(++last_, Connection{});
  frames_ += port_frame(PortFrame::open, last_);
  return last_;
}

void PortTalk::send(std::uint32_t connection, std::string_view bytes) {
  const auto at = connections_.find(connection);
  if (at == connections_.end() || bytes.empty()) return;
  assert(bytes.size() <= longest_piece && bytes.size() <= room(connection));
  at->second.in_flight += bytes.size();
  frames_ += port_frame(PortFrame::bytes, connection, bytes);
}

void PortTalk::end(std::uint32_t connection) {
  const auto at = connections_.find(connection);
  if (at == connections_.end() || at->second.has_ended) return;
  at->second.has_ended = true;
  frames_ += port_frame(PortFrame::end, connection);
  forget_if_over(at);
}

void PortTalk::reset(std::uint32_t connection, std::string_view words) {
  if (connections_.erase(connection) != 0)
    frames_ += port_frame(PortFrame::reset, connection, words.substr(0, longest_reason));
}

void PortTalk::took(std::uint32_t connection, std::size_t bytes) {
  const auto at = connections_.find(connection);
  if (at == connections_.end()) return;
  at->second.taken += bytes;
  assert(at->second.taken <= at->second.arrived);
}

std::string PortTalk::take_frames() {
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto each = at++;
    auto& [number, connection] = *each;
    if (connection.taken == 0) continue;
    std::string count;
    append_big_endian(count, connection.taken, number_size);
    frames_ += port_frame(PortFrame::taken, number, count);
    connection.arrived -= std::exchange(connection.taken, 0);
    forget_if_over(each);
  }
  return std::exchange(frames_, {});
}

std::size_t PortTalk::room(std::uint32_t connection) const {
  const auto at = connections_.find(connection);
  if (at == connections_.end() || at->second.has_ended) return 0;
  return window - at->second.in_flight;
}

Result<std::optional<PortEvent>> PortTalk::next() {
  while (true) {
    const auto frame = decoder_.next();
    if (!frame) return tl::make_unexpected(frame.error());
    if (!*frame) return std::nullopt;
    auto event = take(**frame);
    if (!event || *event) return event;
  }
}

Result<std::optional<PortEvent>> PortTalk::take(const Frame& frame) {
  if (frame.kind != FrameKind::output || frame.payload.size() < port_header_size)
    return violation("sent a frame that is of no connection");
  const auto what = static_cast<PortFrame>(frame.payload.front());
  const auto number =
      static_cast<std::uint32_t>(read_big_endian(frame.payload.substr(1, number_size)));
  const std::string_view rest = frame.payload.substr(port_header_size);
  if (what == PortFrame::open) return take_open(number);
  if (number > last_) return violation(fmt::format("spoke of connection {}, never opened", number));
  const auto at = connections_.find(number);
  if (at == connections_.end()) return std::nullopt;  // it was on its way when that was over
  Connection& connection = at->second;
  switch (what) {
    case PortFrame::bytes:
      if (connection.peer_has_ended || rest.size() > window - connection.arrived)
        return violation(fmt::format("sent more of connection {} than it may", number));
      connection.arrived += rest.size();
      return PortEvent{PortEvent::Kind::bytes, number, rest};
    case PortFrame::end:
      if (connection.peer_has_ended)
        return violation(fmt::format("ended connection {} twice", number));
      connection.peer_has_ended = true;
      forget_if_over(at);
      return PortEvent{PortEvent::Kind::end, number, {}};
    case PortFrame::taken: {
      const std::size_t count = rest.size() == number_size ? read_big_endian(rest) : SIZE_MAX;
      if (count > connection.in_flight) return violation("took what was not sent");
      connection.in_flight -= count;
      forget_if_over(at);
      return std::nullopt;
    }
    case PortFrame::reset:
      connections_.erase(at);
      return PortEvent{PortEvent::Kind::reset, number, rest.substr(0, longest_reason)};
    case PortFrame::open:
      break;
  }
  return violation("sent a frame that is not understood");
}

Result<std::optional<PortEvent>> PortTalk::take_open(std::uint32_t connection) {
  if (side_ == Side::opens || connection <= last_)
    return violation(fmt::format("opened connection {}", connection));
  if (connections_.size() == most_connections)
    return violation(fmt::format("opened more than {} connections", most_connections));
  last_ = connection;
  connections_.emplace(connection, Connection{});
  return PortEvent{PortEvent::Kind::opened, connection, {}};
}

// The other side comes to the same: what it has ended and what it has taken, it has said in frames
// before.
void PortTalk::forget_if_over(Connections::iterator at) {
  const Connection& it = at->second;
  if (it.has_ended && it.peer_has_ended && it.in_flight == 0 && it.arrived == 0)
    connections_.erase(at);
}

}  // namespace train
