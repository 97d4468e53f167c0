// SPDX-License-Identifier: Apache-2.0
#include "backends/network/probe_protocol.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/unsent_output.hpp"

namespace train {

namespace {

constexpr std::size_t probe_size = probe_header_size + probe_payload_size;

// Incompressible bytes: a tunnel that compresses would send small packets.
std::string make_payload() {
  std::string payload(probe_payload_size, '\0');
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (char& each : payload) {  // xorshift64
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    each = static_cast<char>(state >> 56);
  }
  return payload;
}

const std::string& probe_payload() {
  static const std::string payload = make_payload();
  return payload;
}

ProbeProgress progress_after(int error) {
  if (is_passing(error)) return ProbeProgress::waits;
  return error == ECONNRESET || error == EPIPE ? ProbeProgress::foreign : ProbeProgress::lost;
}

}  // namespace

bool is_probe_token(std::string_view token) {
  return token.size() == 32 &&
         token.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string probe_header(ProbePart part, std::string_view token) {
  const char* magic = part == ProbePart::question ? "train-probe-1 " : "train-reply-1 ";
  return fmt::format("{:<{}}", fmt::format("{}{}", magic, token), probe_header_size);
}

ProbeProgress ProbeSender::send_some(int socket) {
  while (sent_ < probe_size) {
    // The header is a packet of its own, which arrives where large ones do not.
    const std::string_view part =
        sent_ < probe_header_size
            ? header_.substr(sent_)
            : std::string_view(probe_payload()).substr(sent_ - probe_header_size);
    const ssize_t count =
        uninterrupted([&] { return ::send(socket, part.data(), part.size(), MSG_NOSIGNAL); });
    if (count < 0) return progress_after(errno);
    sent_ += static_cast<std::size_t>(count);
  }
  return ProbeProgress::complete;
}

bool ProbeReceiver::is_as_expected() const {
  const std::size_t known =
      has_header() ? probe_header_size : std::min(received_, probe_magic_size);
  return std::equal(header_.begin(), header_.begin() + known, expected_.begin());
}

ProbeProgress ProbeReceiver::receive_some(int socket) {
  constexpr std::size_t most_at_once = std::size_t{16} << 10;
  std::array<char, most_at_once> ignored;
  char* const place = has_header() ? ignored.data() : header_.data() + received_;
  const std::size_t wanted = has_header() ? std::min(probe_size - received_, ignored.size())
                                          : probe_header_size - received_;
  const ssize_t count = uninterrupted([&] { return ::recv(socket, place, wanted, 0); });
  if (count < 0) return progress_after(errno);
  if (count == 0) return ProbeProgress::foreign;
  const bool had_header = has_header();
  received_ += static_cast<std::size_t>(count);
  if (!had_header && !is_as_expected()) return ProbeProgress::foreign;
  return received_ == probe_size ? ProbeProgress::complete : ProbeProgress::waits;
}

}  // namespace train
