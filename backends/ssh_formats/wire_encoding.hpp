// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace train {

/// Reads values in SSH's encoding (RFC 4251, section 5). After a truncated value, every read
/// returns nothing.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  std::optional<std::uint8_t> byte();
  std::optional<std::uint32_t> number();
  /// A string, or the bytes of an mpint: a view into the given bytes.
  std::optional<std::string_view> string();
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// Values in SSH's encoding.
std::string wire_number(std::uint32_t value);
std::string wire_string(std::string_view bytes);
/// A non-negative number given as big-endian bytes.
std::string wire_mpint(std::string_view big_endian);

/// A text in the type that OpenSSL takes.
inline const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string base64_encode(std::string_view bytes);
/// Nothing when the text is not base64; padding may be missing, white space is skipped.
std::optional<std::string> base64_decode(std::string_view text);

/// The type that a public key blob names ("ssh-ed25519"); empty when it is not a key.
std::string key_type(std::string_view blob);
/// "SHA256:...", as OpenSSH shows keys.
std::string key_fingerprint(std::string_view blob);

}  // namespace train
