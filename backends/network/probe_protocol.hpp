// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace train {

/// A probe is a question and an answer, each a header and a payload: many packets of full size, so
/// that a way on which only small ones arrive is found. The headers differ, so that nobody who
/// sends back what he gets, this socket itself included, is taken for a responder.
enum class ProbePart { question, answer };

inline constexpr std::size_t probe_header_size = 64;
inline constexpr std::size_t probe_payload_size = std::size_t{16} << 10;

/// What a header begins with is no secret; the token follows.
inline constexpr std::size_t probe_magic_size = 14;

/// 32 hexadecimal digits, as `new_nonce` makes them.
bool is_probe_token(std::string_view token);
/// "train-probe-1 TOKEN" or "train-reply-1 TOKEN", with blanks up to its size.
std::string probe_header(ProbePart part, std::string_view token);

/// How far a part has come.
enum class ProbeProgress {
  waits,     ///< the socket gives or takes no more for now
  complete,  ///< all of it is through
  foreign,   ///< the other side said something else, or ended the connection
  lost,      ///< the network ended it
};

/// One part on its way to a non-blocking socket. Raises no SIGPIPE.
class ProbeSender {
 public:
  /// The header stays there as long as this.
  explicit ProbeSender(std::string_view header) : header_(header) {}
  ProbeProgress send_some(int socket);

 private:
  std::string_view header_;
  std::size_t sent_ = 0;  ///< of the header and the payload
};

/// One part that comes from a non-blocking socket. Takes no more than belongs to it, and keeps
/// nothing but its header.
class ProbeReceiver {
 public:
  /// The header stays there as long as this.
  explicit ProbeReceiver(std::string_view header) : expected_(header) {}
  /// Takes a few packets, so that nobody who sends much holds up others. A wrong beginning is
  /// foreign at once; of the token nothing is said before all of the header is there: else it could
  /// be found digit by digit.
  ProbeProgress receive_some(int socket);
  /// Whether the other side has shown the token.
  bool has_header() const { return received_ >= probe_header_size; }

 private:
  bool is_as_expected() const;

  std::string_view expected_;
  std::array<char, probe_header_size> header_{};
  std::size_t received_ = 0;  ///< of the header and the payload
};

}  // namespace train
