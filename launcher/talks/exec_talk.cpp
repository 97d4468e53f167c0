// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/exec_talk.hpp"

#include "launcher/frames/fields.hpp"

namespace train {

using nlohmann::json;

namespace {

using namespace exec_talk;

constexpr std::size_t most_arguments = 100'000;
constexpr std::size_t longest_text = 4'096;
constexpr int highest_signal = 64;
constexpr int most_cells = 65'535;

}  // namespace

void fields(auto& f, Described<TerminalSize> auto& size) {
  f.number("rows", size.rows, 0, most_cells);
  f.number("columns", size.columns, 0, most_cells);
}

namespace exec_talk {

void fields(auto& f, Described<Start> auto& start) {
  f.number("rank", start.rank);
  f.number("trial", start.trial);
  f.texts("command", start.command, most_arguments);
  f.object("terminal", start.terminal);
  f.optional_text("terminal_type", start.terminal_type, longest_text);
  f.check([&] { return !start.command.empty(); }, "a command without a program");
}
void fields(auto& f, Described<Resize> auto& resize) { f.object("size", resize.size); }
void fields(auto& f, Described<Signal> auto& signal) {
  f.number("number", signal.number, 1, highest_signal);
}
void fields(auto&, Described<EndOfInput> auto&) {}
void fields(auto&, Described<Alive> auto&) {}
void fields(auto& f, Described<Taken> auto& taken) { f.number("bytes", taken.bytes); }
void fields(auto& f, Described<End> auto& end) {
  f.number("code", end.code, 0, 255);
  f.number("signal", end.signal, 1, highest_signal);
  f.flag("rank_ended", end.rank_ended);
  f.optional_text("refusal", end.refusal, longest_text);
  f.flag("missing", end.is_missing);
  f.check(
      [&] {
        const int ends = static_cast<int>(end.code.has_value()) +
                         static_cast<int>(end.signal.has_value()) +
                         static_cast<int>(!end.refusal.empty());
        return ends == 1;
      },
      "an end that is not one of code, signal and refusal");
}

}  // namespace exec_talk

namespace {

constexpr std::tuple names{Named<Start>{"start"},   Named<Resize>{"resize"},
                           Named<Signal>{"signal"}, Named<EndOfInput>{"end_of_input"},
                           Named<Alive>{"alive"},   Named<Taken>{"taken"},
                           Named<End>{"end"}};

}  // namespace

std::string encode_exec(const ExecMessage& message) {
  return encode_frame(FrameKind::control, json_of_variant(message, "type", names).dump());
}

Result<ExecMessage> decode_exec(std::string_view payload) {
  return decode_document<ExecMessage>(
      payload, max_control_payload, "what is said beside a rank is not understood",
      [](const json& value) { return variant_of_json<ExecMessage>(value, "type", names); });
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
