// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/exec_talk.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

// As it is after the other side has taken the frame off.
Result<ExecMessage> sent(const ExecMessage& message, FrameSender by) {
  FrameDecoder decoder(by);
  const std::string bytes = encode_exec(message);
  decoder.feed(bytes);
  const auto frame = decoder.next();
  REQUIRE(frame);
  REQUIRE(*frame);
  CHECK((*frame)->kind == FrameKind::control);
  return decode_exec((*frame)->payload);
}

}  // namespace

TEST_CASE("what is said beside a rank arrives as it was said") {
  const exec_talk::Start piped{3, {"sh", "-c", "", "it's \xff"}, std::nullopt};
  const exec_talk::Start typed{0, {"top"}, TerminalSize{24, 80}, "xterm-256color", 12};
  for (const ExecMessage& message : std::vector<ExecMessage>{
           piped, typed, exec_talk::Resize{{0, 65'535}}, exec_talk::Signal{15},
           exec_talk::EndOfInput{}, exec_talk::Alive{}, exec_talk::Taken{std::uint64_t{1} << 40}}) {
    const auto back = sent(message, FrameSender::launcher);
    REQUIRE(back);
    CHECK(*back == message);
  }
  exec_talk::End refused;
  refused.refusal = "no \xfe";
  refused.is_missing = true;
  exec_talk::End killed{std::nullopt, 9};
  killed.rank_ended = true;
  for (const ExecMessage& message :
       std::vector<ExecMessage>{exec_talk::End{255, {}}, killed, refused}) {
    const auto back = sent(message, FrameSender::agent);
    REQUIRE(back);
    CHECK(*back == message);
  }
}

TEST_CASE("bytes of a stream arrive as they are, and only of streams that there are") {
  FrameDecoder decoder(FrameSender::agent);
  const std::string bytes(longest_exec_piece, '\0');
  decoder.feed(encode_exec_bytes(2, bytes));
  const auto frame = decoder.next();
  REQUIRE(frame);
  REQUIRE(*frame);
  const auto piece = decode_exec_bytes((*frame)->payload);
  REQUIRE(piece);
  CHECK(piece->stream == 2);
  CHECK(piece->bytes == bytes);
  CHECK_FALSE(decode_exec_bytes(""));
  CHECK_FALSE(decode_exec_bytes("\x03x"));
  CHECK_FALSE(decode_exec_bytes("\xff"));
}

TEST_CASE("what nobody says beside a rank is refused") {
  for (const char* bad :
       {"", "[]", "7", R"({"type":"soul"})", R"({"type":"start","rank":-1,"command":["a"]})",
        R"({"type":"start","rank":0,"command":[]})", R"({"type":"start","rank":0,"command":"a"})",
        R"({"type":"start","rank":0,"command":["a"],"terminal":{}})",
        R"({"type":"resize","size":{"rows":70000,"columns":1}})", R"({"type":"signal","number":0})",
        R"({"type":"signal","number":65})", R"({"type":"taken","bytes":-1})",
        R"({"type":"end","rank_ended":false})", R"({"type":"end","rank_ended":false,"code":256})",
        R"({"type":"end","rank_ended":false,"code":1,"signal":9})",
        R"({"type":"end","rank_ended":false,"refusal":"x"})"}) {
    CAPTURE(bad);
    const auto refused = decode_exec(bad);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().error_class == ErrorClass::host);
  }
}
