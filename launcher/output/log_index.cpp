// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_index.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <charconv>

#include "launcher/frames/big_endian.hpp"

namespace train {

namespace {

constexpr std::string_view magic = "trainlog";
constexpr std::uint64_t version = 1;
constexpr std::string_view log_ending = ".log";
constexpr std::size_t position_digits = 16;
// Stands for a gap instead of a stream. The size of the gap replaces length and checksum.
constexpr std::uint64_t code_of_gap = 0;
// More than any disk holds, and far below an overflow of sums.
constexpr std::uint64_t longest_gap = std::uint64_t{1} << 62;

std::string position_ending(std::uint64_t begin) {
  return begin == 0 ? std::string() : fmt::format(".{:0{}}", begin, position_digits);
}

}  // namespace

std::string log_segment(const std::string& log_file, std::uint64_t begin) {
  return log_file + position_ending(begin);
}

std::string log_index(const std::string& log_file, std::uint64_t begin) {
  std::string_view stem = log_file;
  if (stem.ends_with(log_ending)) stem.remove_suffix(log_ending.size());
  return std::string(stem) + ".index" + position_ending(begin);
}

std::optional<std::uint64_t> begin_of_segment(std::string_view log_name,
                                              std::string_view segment_name) {
  if (!segment_name.starts_with(log_name)) return std::nullopt;
  const std::string_view ending = segment_name.substr(log_name.size());
  if (ending.empty()) return 0;
  std::uint64_t begin = 0;
  const char* const end = ending.data() + ending.size();
  const auto read = std::from_chars(ending.data() + 1, end, begin);
  if (read.ec != std::errc() || read.ptr != end || position_ending(begin) != ending)
    return std::nullopt;
  return begin;
}

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::string encode_log_header() {
  std::string bytes(magic);
  append_big_endian(bytes, version, 4);
  append_big_endian(bytes, checksum_of(bytes), 4);
  return bytes;
}

bool is_log_header(std::string_view bytes) { return bytes == encode_log_header(); }

std::string encode_log_record(const LogRecord& record) {
  std::string bytes;
  bytes.reserve(log_record_size);
  append_big_endian(bytes, record.begin, 8);
  append_big_endian(bytes, static_cast<std::uint64_t>(record.time_us), 8);
  if (record.dropped > 0) {
    append_big_endian(bytes, record.dropped, 8);
    append_big_endian(bytes, code_of_gap, 4);
  } else {
    append_big_endian(bytes, record.length, 4);
    append_big_endian(bytes, record.checksum, 4);
    append_big_endian(bytes, static_cast<std::uint64_t>(record.stream), 4);
  }
  append_big_endian(bytes, checksum_of(bytes), 4);
  return bytes;
}

std::optional<LogRecord> decode_log_record(std::string_view bytes) {
  constexpr std::size_t without_checksum = log_record_size - 4;
  if (bytes.size() != log_record_size) return std::nullopt;
  if (read_big_endian(bytes.substr(without_checksum)) !=
      checksum_of(bytes.substr(0, without_checksum)))
    return std::nullopt;
  LogRecord record;
  record.begin = read_big_endian(bytes.substr(0, 8));
  record.time_us = static_cast<std::int64_t>(read_big_endian(bytes.substr(8, 8)));
  const std::uint64_t stream = read_big_endian(bytes.substr(24, 4));
  if (stream == code_of_gap) {
    record.dropped = read_big_endian(bytes.substr(16, 8));
    if (record.dropped == 0 || record.dropped > longest_gap) return std::nullopt;
    return record;
  }
  record.length = static_cast<std::uint32_t>(read_big_endian(bytes.substr(16, 4)));
  record.checksum = static_cast<std::uint32_t>(read_big_endian(bytes.substr(20, 4)));
  if (record.length == 0 || record.length > max_chunk_bytes || stream < 1 || stream > 3)
    return std::nullopt;
  record.stream = static_cast<OutputStream>(stream);
  return record;
}

}  // namespace train
