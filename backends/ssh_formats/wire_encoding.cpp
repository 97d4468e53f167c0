// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/wire_encoding.hpp"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>

namespace train {

namespace {

constexpr std::string_view base64_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int, 256> base64_values() {
  std::array<int, 256> values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < base64_alphabet.size(); ++i)
    values[static_cast<unsigned char>(base64_alphabet[i])] = static_cast<int>(i);
  return values;
}

}  // namespace

std::optional<std::uint8_t> WireReader::byte() {
  if (rest_.empty()) return std::nullopt;
  const auto value = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return value;
}

std::optional<std::uint32_t> WireReader::number() {
  if (rest_.size() < 4) {
    rest_ = {};
    return std::nullopt;
  }
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(rest_[i]);
  rest_.remove_prefix(4);
  return value;
}

std::optional<std::string_view> WireReader::string() {
  const auto size = number();
  if (!size) return std::nullopt;
  if (*size > rest_.size()) {
    rest_ = {};
    return std::nullopt;
  }
  const std::string_view value = rest_.substr(0, *size);
  rest_.remove_prefix(*size);
  return value;
}

std::string wire_number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string wire_string(std::string_view bytes) {
  std::string value = wire_number(static_cast<std::uint32_t>(bytes.size()));
  return value.append(bytes);
}

std::string wire_mpint(std::string_view big_endian) {
  while (!big_endian.empty() && big_endian.front() == '\0') big_endian.remove_prefix(1);
  // The highest bit is the sign.
  const bool looks_negative = !big_endian.empty() && (big_endian.front() & 0x80) != 0;
  return wire_string((looks_negative ? std::string(1, '\0') : std::string()).append(big_endian));
}

std::string base64_encode(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // with a NUL
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// OpenSSL (3.0) has two decoders, and neither is suitable: EVP_DecodeBlock rejects line breaks and
// missing padding, and accepts "Y=Jj", or "YWJj-" up to the '-'; EVP_DecodeUpdate accepts that '-'
// too, and leaves possible secrets in a buffer that it does not wipe.
std::optional<std::string> base64_decode(std::string_view text) {
  static constexpr auto values = base64_values();
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);  // one allocation: secrets pass through here
  std::uint32_t bits = 0;
  int count = 0;
  bool ended = false;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      ended = true;
      continue;
    }
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0 || ended) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xff);
    }
  }
  return bytes;
}

std::string key_type(std::string_view blob) {
  const auto type = WireReader(blob).string();
  return type ? std::string(*type) : std::string();
}

std::string key_fingerprint(std::string_view blob) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(blob.data()), blob.size(), digest.data());
  std::string text = base64_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
  while (text.back() == '=') text.pop_back();
  return "SHA256:" + text;
}

}  // namespace train
