// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace train::devices {

/// One line, of JSON or plain text, built piece by piece in memory, so that a reader gets all of it
/// or nothing. A line that does not fit (1 MiB) is not written.
class Line {
 public:
  /// Adds text as it is, for example JSON.
  void raw(const char* json) {
    for (; *json != '\0'; ++json) add(*json);
  }
  void number(unsigned long long value) {
    char digits[20];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count > 0) add(digits[--count]);
  }
  /// Adds a JSON string of at most `most` bytes. A text that is not plain ASCII becomes
  /// `{"hex": "..."}`, the format in which json_fields reads any bytes.
  void text(const char* bytes, std::size_t most) {
    const std::size_t length = ::strnlen(bytes, most);
    bool is_plain = true;
    for (std::size_t i = 0; i < length; ++i)
      is_plain = is_plain && bytes[i] >= ' ' && bytes[i] <= '~';
    raw(is_plain ? "\"" : "{\"hex\":\"");
    for (std::size_t i = 0; i < length; ++i) {
      if (is_plain)
        escaped(bytes[i]);
      else
        hex(static_cast<unsigned char>(bytes[i]));
    }
    raw(is_plain ? "\"" : "\"}");
  }

  /// Adds at most `most` bytes without quotes; bytes that are not plain ASCII become '?'.
  void words(const char* bytes, std::size_t most) {
    for (; most > 0 && *bytes != '\0'; ++bytes, --most)
      add(*bytes >= ' ' && *bytes <= '~' ? *bytes : '?');
  }
  void hex(const char* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) hex(static_cast<unsigned char>(bytes[i]));
  }

  std::size_t size() const { return size_; }
  void clear() {
    size_ = 0;
    is_torn_ = false;
  }
  /// False if the line did not fit, or cannot be written.
  bool write(int descriptor) const {
    if (is_torn_) return false;
    for (std::size_t written = 0; written < size_;) {
      const ssize_t count = ::write(descriptor, bytes_ + written, size_ - written);
      if (count <= 0) return false;
      written += static_cast<std::size_t>(count);
    }
    return true;
  }

 private:
  void add(char byte) {
    if (size_ == sizeof bytes_)
      is_torn_ = true;
    else
      bytes_[size_++] = byte;
  }
  void escaped(char byte) {
    if (byte == '"' || byte == '\\') add('\\');
    add(byte);
  }
  void hex(unsigned char byte) {
    add("0123456789abcdef"[byte >> 4]);
    add("0123456789abcdef"[byte & 15]);
  }

  // All zeros at the start, so that it takes no space in the program file.
  std::size_t size_ = 0;
  bool is_torn_ = false;
  char bytes_[std::size_t{1} << 20] = {};
};

}  // namespace train::devices
