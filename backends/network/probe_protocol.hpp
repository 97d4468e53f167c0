// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace train {

/// A probe is a question and an answer, each a header and a payload: many packets of full size,
/// which detect a path on which only small ones arrive. The headers differ, so that a peer that
/// echoes, this socket itself included, is not taken for a responder.
enum class ProbePart { question, answer };

inline constexpr std::size_t probe_header_size = 64;
inline constexpr std::size_t probe_payload_size = std::size_t{16} << 10;

/// The bytes of a header before the token; they are not secret.
inline constexpr std::size_t probe_magic_size = 14;

/// 32 hexadecimal digits, as `new_nonce` makes them.
bool is_probe_token(std::string_view token);
/// "train-probe-1 TOKEN" or "train-reply-1 TOKEN", padded with blanks to its size.
std::string probe_header(ProbePart part, std::string_view token);

/// The progress of one part.
enum class ProbeProgress {
  waits,     ///< the socket is not ready
  complete,  ///< the whole part was sent or received
  foreign,   ///< the peer sent something else, or closed the connection
  lost,      ///< the network broke the connection
};

/// Sends one part to a non-blocking socket. Raises no SIGPIPE.
class ProbeSender {
 public:
  /// `header` must outlive this object.
  explicit ProbeSender(std::string_view header) : header_(header) {}
  ProbeProgress send_some(int socket);

 private:
  std::string_view header_;
  std::size_t sent_ = 0;  ///< of the header and the payload
};

/// Receives one part from a non-blocking socket. Reads no bytes beyond it, and stores only its
/// header.
class ProbeReceiver {
 public:
  /// `header` must outlive this object.
  explicit ProbeReceiver(std::string_view header) : expected_(header) {}
  /// Reads a few packets only, so that a peer that sends much does not delay others. A wrong magic
  /// is `foreign` at once; the token is compared only when the whole header was received: otherwise
  /// it could be guessed digit by digit.
  ProbeProgress receive_some(int socket);
  /// Whether the peer has sent the right token.
  bool has_header() const { return received_ >= probe_header_size; }

 private:
  bool is_as_expected() const;

  std::string_view expected_;
  std::array<char, probe_header_size> header_{};
  std::size_t received_ = 0;  ///< of the header and the payload
};

}  // namespace train
