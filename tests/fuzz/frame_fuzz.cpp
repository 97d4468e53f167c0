// SPDX-License-Identifier: Apache-2.0
// What arrives from a host, where anybody may answer. An input is read fourteen times: as a stream
// of frames, as the payload of a control frame, as the payload of an output frame, as the report of
// a sweep, as that of a host's line, as a ticket that lies there, as what a host says of itself, as
// what it says of its devices, as what is found of all-reduces, of one and of several, and what a
// rank says of it, as what is said beside a rank, as what is said of files, and as connections of a
// port.
#include <algorithm>

#include "config_schema/text/text.hpp"
#include "launcher/fitness/allreduce_report.hpp"
#include "launcher/fitness/device_report.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/talks/exec_talk.hpp"
#include "launcher/talks/get_talk.hpp"
#include "launcher/talks/host_report.hpp"
#include "launcher/talks/port_talk.hpp"
#include "launcher/talks/sweep_report.hpp"
#include "launcher/talks/wait_talk.hpp"
#include "launcher/wire/message.hpp"
#include "launcher/wire/output_chunk.hpp"
#include "launcher/wire/ticket_fields.hpp"
#include "tests/fuzz/property.hpp"

using namespace train;
using fuzz::require;

namespace {

void check_refusal(const Error& error) { fuzz::check_error(error, ErrorClass::host, {}); }

void check_control(std::string_view payload) {
  const auto message = decode_message(payload);
  if (!message) return check_refusal(message.error());
  const std::string encoded = encode_message(*message);
  require(encoded.find('\n') == encoded.npos, "a message is one line", encoded);
  const auto again = decode_message(encoded);
  require(again.has_value(), "what was encoded can be decoded", encoded);
  require(*again == *message, "a message comes back as it was sent", encoded);
}

void check_output(std::string_view payload) {
  const auto chunk = decode_output(payload);
  if (!chunk) return check_refusal(chunk.error());
  require(chunk->bytes.size() <= max_chunk_bytes && chunk->rank >= 0, "a chunk is within bounds");
  const bool was_packed = payload.substr(21, 4) != std::string_view("\0\0\0\0", 4);
  require(was_packed || encode_output(*chunk) == payload, "a chunk comes back as it was sent");
  const auto again = decode_output(encode_output(*chunk, OutputPacking::lz4));
  require(again && *again == *chunk, "a chunk comes back when it was packed");
}

void check_wait_report(std::string_view line) {
  const auto report = decode_wait_report(line);
  if (!report) return check_refusal(report.error());
  const std::string encoded = encode_wait_report(*report);
  require(encoded.find('\n') == encoded.size() - 1, "a report is one line", encoded);
  const auto again = decode_wait_report(std::string_view(encoded).substr(0, encoded.size() - 1));
  require(again.has_value(), "what was encoded can be decoded", encoded);
  require(again->tickets.size() == report->tickets.size(), "no ticket is lost", encoded);
}

void check_ticket(std::string_view text) {
  const auto record = decode_ticket(text);
  if (!record) return check_refusal(record.error());
  const std::string encoded = encode_ticket(*record);
  require(decode_ticket(encoded).has_value(), "what was encoded can be decoded", encoded);
}

// What is read of a line comes back from its own line; `is_same` says how much of it does, since
// what takes more room as JSON than there is comes back cut.
template <class Report, class IsSame>
void check_line(std::string_view line, Result<Report> (*decode)(std::string_view),
                std::string (*encode)(const Report&), std::size_t longest, IsSame is_same) {
  const auto report = decode(line);
  if (!report) return check_refusal(report.error());
  const std::string encoded = encode(*report);
  require(encoded.size() <= longest, "a report is within bounds", encoded);
  require(encoded.find('\n') == encoded.size() - 1, "a report is one line", encoded);
  const auto again = decode(std::string_view(encoded).substr(0, encoded.size() - 1));
  require(again.has_value(), "what was encoded can be decoded", encoded);
  require(is_same(*again, *report), "a report comes back as it was sent", encoded);
}

void check_reports(std::string_view line) {
  check_line(line, decode_sweep_report, encode_sweep_report, longest_sweep_report,
             [](const auto& again, const auto& report) {
               return again.survivors.size() < report.survivors.size() || again == report;
             });
  check_line(line, decode_host_report, encode_host_report, longest_host_report,
             [](const auto& again, const auto& report) {
               return again.holders.size() < report.holders.size() || again == report;
             });
  check_line(line, decode_device_report, encode_device_report, longest_device_report,
             [](const auto& again, const auto& report) {
               return again.devices.size() == report.devices.size();
             });
  check_line(line, decode_allreduce_report, encode_allreduce_report, longest_allreduce_report,
             [](const auto& again, const auto& report) {
               return again.times == report.times && again.ranks.size() == report.ranks.size();
             });
  check_line(
      line, +[](std::string_view text) { return decode_allreduce_groups(text, 8); },
      encode_allreduce_groups, longest_allreduce_groups,
      [](const auto& again, const auto& report) {
        return std::equal(again.begin(), again.end(), report.begin(), report.end(),
                          [](const auto& a, const auto& b) {
                            return a.members == b.members &&
                                   a.troubles.size() == b.troubles.size() &&
                                   a.report.times == b.report.times;
                          });
      });
}

void check_allreduce_talk(std::string_view text) {
  AllReduceTalk talk(0, 512);
  for (const std::string_view line : split(text, '\n')) {
    const auto taken = talk.take(line);
    if (!taken) return check_refusal(taken.error());
    require(talk.facts().times.size() <= 3, "no more is measured than is to be");
    if (talk.is_done()) require(!talk.facts().times.empty(), "something was measured at the end");
  }
}

void check_exec(std::string_view payload) {
  (void)decode_exec_bytes(payload);
  const auto message = decode_exec(payload);
  if (!message) return check_refusal(message.error());
  constexpr std::size_t header = 5;
  const std::string encoded = encode_exec(*message).substr(header);
  const auto again = decode_exec(encoded);
  require(again.has_value(), "what was encoded can be decoded", encoded);
  require(*again == *message, "what is said beside a rank comes back", encoded);
}

// By itself, and as what a host says next.
void check_get(std::string_view payload, GetOrder& order) {
  const auto message = decode_get(payload);
  if (!message) return check_refusal(message.error());
  constexpr std::size_t header = 5;
  const std::string encoded = encode_get(*message).substr(header);
  require(encoded.size() <= max_agent_control_payload, "what is said of files fits into a frame");
  const auto again = decode_get(encoded);
  require(again.has_value(), "what was encoded can be decoded", encoded);
  require(*again == *message, "what is said of files comes back", encoded);
  if (const auto* entry = std::get_if<get_talk::Entry>(&*message))
    require(entry->name.find('/') == entry->name.npos && entry->name != ".." && entry->mode <= 0777,
            "an entry stays in its folder", encoded);
  const bool was_over = order.is_over();
  const auto taken = order.take(*message);
  require(!was_over || !taken, "nothing comes after the end", encoded);
  if (!taken) check_refusal(taken.error());
}

// A reader that takes all at once, on the side that is opened to and on the other one.
void check_ports(std::string_view stream, PortTalk::Side side) {
  PortTalk talk(side);
  if (side == PortTalk::Side::opens) {
    talk.send(talk.open(), "question");
    talk.end(talk.open());
  }
  talk.feed(stream);
  while (true) {
    const auto event = talk.next();
    if (!event) return check_refusal(event.error());
    if (!*event) break;
    require(talk.size() <= PortTalk::most_connections, "connections are within bounds");
    const std::uint32_t connection = (*event)->connection;
    require(talk.room(connection) <= PortTalk::window, "so is what is sent of one");
    if ((*event)->kind == PortEvent::Kind::bytes) talk.took(connection, (*event)->payload.size());
    if ((*event)->kind == PortEvent::Kind::end) talk.end(connection);
  }
  require(talk.take_frames().size() <= 2 * stream.size() + 100, "little is said in answer");
}

// The frames of a stream that arrives in pieces of that size, and what was wrong with the rest.
struct Reading {
  std::vector<std::pair<FrameKind, std::string>> frames;
  std::optional<Error> error;

  bool operator==(const Reading&) const = default;
};

Reading read_stream(std::string_view stream, std::size_t piece) {
  Reading reading;
  FrameDecoder decoder(FrameSender::launcher);
  while (true) {
    auto frame = decoder.next();
    if (!frame) {
      if (reading.error) require(*reading.error == frame.error(), "a broken stream stays broken");
      reading.error = frame.error();
    } else if (*frame) {
      require(!reading.error, "a broken stream has no more frames");
      reading.frames.emplace_back((*frame)->kind, (*frame)->payload);
      continue;
    }
    if (stream.empty()) return reading;
    decoder.feed(stream.substr(0, piece));
    stream.remove_prefix(std::min(piece, stream.size()));
  }
}

void check_stream(std::string_view stream) {
  const Reading reading = read_stream(stream, stream.size() + 1);
  require(reading == read_stream(stream, 1), "a stream reads the same in pieces of one byte");
  require(reading == read_stream(stream, 7), "a stream reads the same in pieces of seven bytes");
  std::string encoded;
  GetOrder order;
  for (const auto& [kind, payload] : reading.frames) {
    encoded += encode_frame(kind, payload);
    if (kind == FrameKind::control) check_get(payload, order);
    if (kind == FrameKind::output) (void)order.take_content(payload.size());
    if (kind == FrameKind::control) check_control(payload);
    if (kind == FrameKind::output) check_output(payload);
  }
  require(stream.substr(0, encoded.size()) == encoded, "frames are the bytes that arrived");
  if (reading.error) check_refusal(*reading.error);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const fuzz::CpuLimit limit;
  check_stream(bytes);
  check_control(bytes);
  check_output(bytes);
  check_reports(bytes);
  check_wait_report(bytes);
  check_ticket(bytes);
  check_allreduce_talk(bytes);
  check_exec(bytes);
  check_ports(bytes, PortTalk::Side::opens);
  check_ports(bytes, PortTalk::Side::answers);
  GetOrder order;
  check_get(bytes, order);
  return 0;
}
