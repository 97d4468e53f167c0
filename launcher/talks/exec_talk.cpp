// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/exec_talk.hpp"

#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

using namespace exec_talk;

constexpr std::size_t most_arguments = 100'000;
constexpr std::size_t longest_text = 4'096;
constexpr int highest_signal = 64;
constexpr int most_cells = 65'535;

json json_of(TerminalSize size) { return {{"rows", size.rows}, {"columns", size.columns}}; }

TerminalSize size_of(const json& value) {
  return {int_field(value, "rows", 0, most_cells), int_field(value, "columns", 0, most_cells)};
}

json json_of(const Start& start) {
  json command = json::array();
  for (const std::string& argument : start.command) command.push_back(from_bytes(argument));
  json value{{"type", "start"}, {"rank", start.rank}, {"command", std::move(command)}};
  if (start.trial != 0) value["trial"] = start.trial;
  if (!start.terminal) return value;
  value["terminal"] = json_of(*start.terminal);
  value["terminal_type"] = from_bytes(start.terminal_type);
  return value;
}
json json_of(const Resize& resize) { return {{"type", "resize"}, {"size", json_of(resize.size)}}; }
json json_of(const Signal& signal) { return {{"type", "signal"}, {"number", signal.number}}; }
json json_of(const EndOfInput&) { return {{"type", "end_of_input"}}; }
json json_of(const Alive&) { return {{"type", "alive"}}; }
json json_of(const Taken& taken) { return {{"type", "taken"}, {"bytes", taken.bytes}}; }
json json_of(const End& end) {
  json value{{"type", "end"}, {"rank_ended", end.rank_ended}};
  if (end.code) value["code"] = *end.code;
  if (end.signal) value["signal"] = *end.signal;
  if (!end.refusal.empty()) {
    value["refusal"] = from_bytes(end.refusal);
    value["missing"] = end.is_missing;
  }
  return value;
}

Start start_of(const json& value) {
  Start start;
  start.rank = int_field(value, "rank");
  start.trial = optional_int_field(value, "trial", 0, INT32_MAX).value_or(0);
  for (const json& argument : array_field(value, "command", most_arguments))
    start.command.push_back(to_bytes(argument));
  if (start.command.empty()) throw Malformed{"a command without a program"};
  if (!value.contains("terminal")) return start;
  start.terminal = size_of(field(value, "terminal"));
  start.terminal_type = text_field(value, "terminal_type", longest_text);
  return start;
}

End end_of(const json& value) {
  End end;
  end.code = optional_int_field(value, "code", 0, 255);
  end.signal = optional_int_field(value, "signal", 1, highest_signal);
  end.rank_ended = bool_field(value, "rank_ended");
  if (value.contains("refusal")) {
    end.refusal = text_field(value, "refusal", longest_text);
    end.is_missing = bool_field(value, "missing");
  }
  const bool has_refusal = !end.refusal.empty();
  if (static_cast<int>(end.code.has_value()) + static_cast<int>(end.signal.has_value()) +
          static_cast<int>(has_refusal) !=
      1)
    throw Malformed{"an end that is not one of code, signal and refusal"};
  return end;
}

ExecMessage message_of(const json& value) {
  const std::string type = text_field(value, "type", longest_text);
  if (type == "start") return start_of(value);
  if (type == "resize") return Resize{size_of(field(value, "size"))};
  if (type == "signal") return Signal{int_field(value, "number", 1, highest_signal)};
  if (type == "end_of_input") return EndOfInput{};
  if (type == "alive") return Alive{};
  if (type == "taken") return Taken{static_cast<std::uint64_t>(number_field(value, "bytes"))};
  if (type == "end") return end_of(value);
  throw Malformed{"a message of no known type"};
}

}  // namespace

std::string encode_exec(const ExecMessage& message) {
  return encode_frame(FrameKind::control,
                      std::visit([](const auto& one) { return json_of(one); }, message).dump());
}

Result<ExecMessage> decode_exec(std::string_view payload) {
  return decode_document<ExecMessage>(payload, max_control_payload,
                                      "what is said beside a rank is not understood", message_of);
}

std::string encode_exec_bytes(int stream, std::string_view bytes) {
  std::string payload(1, static_cast<char>(stream));
  return encode_frame(FrameKind::output, payload.append(bytes));
}

Result<ExecBytes> decode_exec_bytes(std::string_view payload) {
  if (payload.empty() || payload.front() < 0 || payload.front() > 2)
    return tl::make_unexpected(not_our_protocol("sent bytes of no stream"));
  return ExecBytes{payload.front(), payload.substr(1)};
}

}  // namespace train
