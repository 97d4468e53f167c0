// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_index.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

const LogRecord some_record{std::uint64_t{1} << 40, 65'536, 0xdeadbeef, OutputStream::err,
                            1'700'000'000'123'456};

}  // namespace

TEST_CASE("a segment and its index are named by where they begin, the first by nothing") {
  CHECK(log_segment("/logs/rank-3.0.log", 0) == "/logs/rank-3.0.log");
  CHECK(log_index("/logs/rank-3.0.log", 0) == "/logs/rank-3.0.index");
  CHECK(log_segment("/logs/rank-3.0.log", 1 << 20) == "/logs/rank-3.0.log.0000000001048576");
  CHECK(log_index("/logs/rank-3.0.log", 1 << 20) == "/logs/rank-3.0.index.0000000001048576");
}

TEST_CASE("a segment is told from every other file") {
  CHECK(begin_of_segment("rank-3.0.log", "rank-3.0.log") == 0);
  CHECK(begin_of_segment("rank-3.0.log", "rank-3.0.log.0000000001048576") == 1 << 20);
  const auto other =
      GENERATE("rank-3.1.log", "rank-30.log", "rank-3.0.log.", "rank-3.0.log.1048576",
               "rank-3.0.log.0000000000000000", "rank-3.0.log.000000000104857x",
               "rank-3.0.log.-000000001048576", "rank-3.0.log~", "rank-3.0.index", "");
  CAPTURE(other);
  CHECK_FALSE(begin_of_segment("rank-3.0.log", other));
}

TEST_CASE("the names of segments are in the order of their positions") {
  CHECK(log_segment("r.0.log", 0) < log_segment("r.0.log", 1));
  CHECK(log_segment("r.0.log", 9) < log_segment("r.0.log", 10));
  CHECK(log_segment("r.0.log", 999'999'999) < log_segment("r.0.log", 1'000'000'000));
}

TEST_CASE("a record is read as it was written") {
  const std::string bytes = encode_log_record(some_record);
  CHECK(bytes.size() == log_record_size);
  CHECK(decode_log_record(bytes) == some_record);
  CHECK(encode_log_header().size() == log_header_size);
  CHECK(is_log_header(encode_log_header()));
}

TEST_CASE("a record that is not whole is none, whichever bit is wrong") {
  const std::string bytes = encode_log_record(some_record);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    CHECK_FALSE(decode_log_record(damaged));
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_log_record(bytes.substr(0, size)));
  CHECK_FALSE(decode_log_record(std::string(log_record_size, '\0')));
  CHECK_FALSE(is_log_header(std::string(log_header_size, '\0')));
}

TEST_CASE("a record of nothing, of too much or of no stream is none") {
  LogRecord record = some_record;
  record.length = 0;
  CHECK_FALSE(decode_log_record(encode_log_record(record)));
  record.length = max_chunk_bytes + 1;
  CHECK_FALSE(decode_log_record(encode_log_record(record)));
  record = some_record;
  record.stream = static_cast<OutputStream>(4);
  CHECK_FALSE(decode_log_record(encode_log_record(record)));
}
