// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/wire/output_chunk.hpp"

namespace train {

// The log of a rank: its output, byte for byte, both streams in the order in which they arrived. A
// position in the log is the number of bytes before it since the rank's attempt began, whether or
// not these are still kept.
//
// The bytes are in segments, files of bounded size, so that the oldest can be removed. Each segment
// has an index: a header, then one record for each piece, in order and without gaps. A piece counts
// once its record is complete. A writer that resumes after a crash cuts off everything after the
// last complete record.
//
//     rank-3.0.log                    rank 3, attempt 0, from position 0
//     rank-3.0.index                  its index
//     rank-3.0.log.0000000067108864   the next segment, by the position of its first byte
//     rank-3.0.index.0000000067108864
//
// A record may also say that bytes are missing, because there was no room for them on the host of
// the rank or here: they have positions, but no bytes in the segment. If the first segment does not
// begin at 0, or a segment begins after the end of the previous one, the bytes between are gone:
// they were the oldest and were removed.

/// The file of the segment that begins at `begin`. `log_file` is the first one, `.../rank-3.0.log`.
std::string log_segment(const std::string& log_file, std::uint64_t begin);
/// The index file of that segment.
std::string log_index(const std::string& log_file, std::uint64_t begin);
/// The begin of the segment with this file name, both without their directory; nothing if it is not
/// a segment of that log.
std::optional<std::uint64_t> begin_of_segment(std::string_view log_name,
                                              std::string_view segment_name);

/// One piece of what a rank wrote, or a gap.
struct LogRecord {
  std::uint64_t begin = 0;     ///< position of its first byte
  std::uint32_t length = 0;    ///< bytes; 0 for a gap
  std::uint32_t checksum = 0;  ///< `checksum_of` these bytes
  OutputStream stream = OutputStream::out;
  std::int64_t time_us = 0;   ///< when it was written, in microseconds since the Unix epoch
  std::uint64_t dropped = 0;  ///< for a gap: number of missing bytes; else 0

  /// Where the next record begins.
  std::uint64_t end() const { return begin + length + dropped; }
  bool operator==(const LogRecord&) const = default;
};

constexpr std::size_t log_header_size = 16;
constexpr std::size_t log_record_size = 32;

/// CRC-32 as in zlib and gzip.
std::uint32_t checksum_of(std::string_view bytes);

/// The header of every index: "trainlog", and the version of the format.
std::string encode_log_header();
bool is_log_header(std::string_view bytes);

std::string encode_log_record(const LogRecord& record);
/// Nothing if these bytes are not a complete record, by the record's checksum.
std::optional<LogRecord> decode_log_record(std::string_view bytes);

}  // namespace train
