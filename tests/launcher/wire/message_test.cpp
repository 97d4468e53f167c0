// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/message.hpp"

#include <random>

#include "launcher/wire/frame.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/output_chunk.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace std::string_literals;

namespace {

// Of an output chunk.
constexpr std::size_t unpacked_size_at = 21;
constexpr std::size_t header_size = 33;

const std::string not_text = "\xff\xfe\x80 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80"s;
const std::string with_nul = "a\0b"s;

RankCommand hostile_command() {
  RankCommand command;
  command.rank = 7;
  command.entrypoint.argv = {"", not_text, with_nul, "I am 6' tall", "$HOME\n\t\"\\", "\xc3\xa9"};
  command.working_directory = "/tmp/" + not_text;
  command.environment = {{"PLAIN", "value", AtLaunch::no, false},
                         {"BYTES", not_text, AtLaunch::no, false},
                         {"SECRET", with_nul, AtLaunch::no, true},
                         {"EMPTY", "", AtLaunch::no, false},
                         {"MASTER_PORT", "", AtLaunch::rendezvous_port, false},
                         {"OMP_NUM_THREADS", "1", AtLaunch::no, false, true}};
  return command;
}

RankCommand shell_command() {
  RankCommand command;
  command.entrypoint.shell = "echo \"$RANK\" " + not_text;
  command.working_directory = "/";
  return command;
}

// A Go that is right but for its address.
std::string with_address(const std::string& address) {
  return R"({"type":"go","address":)" + address +
         R"(,"port":1,"megascale_address":"","megascale_port":0,"workers":[]})";
}

// A Hello and an Attach of this version that are right but for these fields.
std::string hello_with(const std::string& fields) {
  return R"({"type":"hello","version":)" + std::to_string(wire_version) +
         R"(,"host_name":"a","boot_id":"b","pid":1,)" + fields + "}";
}
std::string attach_with(const std::string& fields) {
  return R"({"type":"attach","version":)" + std::to_string(wire_version) +
         R"(,"epoch":1,"connection":1,)" + fields + "}";
}

std::vector<Message> all_messages() {
  constexpr Instant late{std::int64_t{1} << 61};
  return {
      message::Prepare{"abcdefgh", {hostile_command(), shell_command()}, 1, {}, milliseconds(0)},
      message::Prepare{not_text,
                       {},
                       most_held_ports,
                       {{"hparams.json", not_text}, {"data.json", ""}},
                       milliseconds(604'800'000)},
      message::Prepare{"t",
                       {shell_command()},
                       0,
                       {},
                       milliseconds(1),
                       milliseconds(604'800'000),
                       OutputPacking::lz4,
                       Context{std::string(64, 'f'), largest_archive},
                       not_text},
      message::Go{"10.0.0.1", 65'535},
      message::Go{not_text, 0, not_text, 1, {"10.0.0.1:1", not_text}},
      message::Go{"10.0.0.1", 1, {}, 0, {}, SlotMeaning::places},
      message::Go{"10.0.0.1", 1, {}, 0, {}, SlotMeaning::rocm},
      message::Stop{milliseconds(10'000)},
      message::Attach{},
      message::Attach{wire_version,
                      INT64_MAX,
                      INT64_MAX,
                      {{0, 0}, {INT32_MAX, std::uint64_t{1} << 62}},
                      INT64_MAX},
      message::Acknowledge{},
      message::Acknowledge{INT64_MAX, INT64_MAX},
      message::Ping{late},
      message::Ping{late, late},
      message::Bye{},
      message::NoAgent{not_text},
      message::Hello{wire_version, not_text, with_nul, INT64_MAX},
      message::Hello{wire_version, "", "", 0, true, message::OwnStop::silence},
      message::Hello{wire_version, "", "", 0, true, message::OwnStop::launcher},
      message::Hello{wire_version, "", "", 0, false, message::OwnStop::failure},
      message::Ready{{}, "/tmp/train-0/x"},
      message::Ready{{1, 65'535}, not_text},
      message::Ready{{},
                     "/",
                     {.cuda = {1'023, 0},
                      .rocm = {3},
                      .split = 1'024,
                      .hidden = 2'048,
                      .obstacle = HostGpus::Obstacle::driver_unknown}},
      message::Refused{{{{}, {}, "no '" + not_text + "' here", "install it"}, {{}, {}, "", ""}}},
      message::Refused{{{{}, {}, "disk full", ""}}, ErrorClass::host},
      message::WantContext{0},
      message::WantContext{INT64_MAX},
      message::RankStarted{INT32_MAX, 4'194'304},
      message::RankNotStarted{0, with_nul},
      message::RankNotStarted{0, "no descriptor", ErrorClass::host},
      message::RankNotStarted{0, "too long", ErrorClass::config},
      message::RankEnded{3, 255, std::nullopt, false, true, late, not_text},
      message::RankEnded{3, std::nullopt, 64, true, false, Instant(0), ""},
      message::Finished{{}},
      message::Finished{{{12, 0, not_text}, {13, 1000, ""}}, INT32_MAX},
      message::Pong{Instant(0), late},
      message::Blocked{"stat of '" + not_text + "'", milliseconds(25'000)},
      message::PortTaken{65'535, UINT32_MAX},
      message::AgentFailed{not_text},
  };
}

}  // namespace

TEST_CASE("every message comes back as it was sent, whatever bytes are in it") {
  for (const Message& message : all_messages()) {
    const std::string payload = encode_message(message);
    INFO(payload);
    CHECK(payload.find('\n') == std::string::npos);
    const auto back = decode_message(payload);
    REQUIRE(back);
    CHECK(*back == message);
  }
}

TEST_CASE("the frame of a message is read by the frame decoder") {
  FrameDecoder decoder(FrameSender::launcher);
  decoder.feed(frame_of(message::Bye{}));
  const auto frame = decoder.next();
  REQUIRE((frame && *frame));
  CHECK((*frame)->kind == FrameKind::control);
  CHECK(decode_message((*frame)->payload) == Message(message::Bye{}));
}

TEST_CASE("a message that was cut off anywhere is refused") {
  for (const Message& message : all_messages()) {
    const std::string payload = encode_message(message);
    for (std::size_t length = 0; length < payload.size(); ++length)
      CHECK_FALSE(decode_message(std::string_view(payload).substr(0, length)));
  }
}

TEST_CASE("malformed messages are refused as the host's fault") {
  const auto payload = GENERATE(
      as<std::string>{},  //
      "", "null", "[]", "{}", "\"bye\"", "{\"type\":1}", "{\"type\":\"bye\"} trailing",
      "{\"type\":\"unheard of\"}", "{\"type\":\"by\xff\"}",
      // missing fields
      R"({"type":"go","address":"a"})", R"({"type":"stop"})", hello_with(R"("has_started":true)"),
      hello_with(R"("has_started":1,"stop":"none")"), hello_with(R"("has_started":true,"stop":"")"),
      hello_with(R"("has_started":true,"stop":7)"),
      hello_with(R"("has_started":true,"stop":"boredom")"), R"({"type":"hello"})",
      R"({"type":"hello","version":"8"})", attach_with(R"("positions":[])"),
      attach_with(R"("credit":1)"), attach_with(R"("positions":[],"credit":-1)"),
      attach_with(R"("positions":{},"credit":1)"), attach_with(R"("positions":[1],"credit":1)"),
      attach_with(R"("positions":[[1]],"credit":1)"),
      attach_with(R"("positions":[[1,2,3]],"credit":1)"),
      attach_with(R"("positions":[[-1,2]],"credit":1)"),
      attach_with(R"("positions":[[2147483648,2]],"credit":1)"),
      attach_with(R"("positions":[[1,-2]],"credit":1)"),
      attach_with(R"("positions":[[1,"2"]],"credit":1)"),
      attach_with(R"("positions":[[1,1.5]],"credit":1)"), R"({"type":"attach"})",
      R"({"type":"attach","version":8,"epoch":0,"connection":1,"positions":[],"credit":0})",
      R"({"type":"attach","version":8,"epoch":1,"connection":0,"positions":[],"credit":0})",
      R"({"type":"ended","rank":0,"code":0,"core":false,"at":1})",
      // wrong types
      R"({"type":"stop","grace_ms":"1"})", R"({"type":"stop","grace_ms":1.5})",
      R"({"type":"stop","grace_ms":true})", R"({"type":"stop","grace_ms":null})",
      R"({"type":"go","address":["a"],"port":1})", R"({"type":"finished","survivors":{}})",
      R"({"type":"finished","survivors":[1]})",
      R"({"type":"refused","problems":["x"],"host_trouble":true})", R"({"type":"want_context"})",
      R"({"type":"want_context","taken":-1})",
      R"({"type":"refused","problems":[{"message":"x","hint":""}]})",
      R"({"type":"prepare","task":"t","ranks":[7],"hold_ports":0,"files":[],)"
      R"("stop_grace_ms":0,"reconnect_window_ms":60000,"pack_output":true})",
      R"({"type":"prepare","task":"t","ranks":[],"hold_ports":true,"files":[],)"
      R"("stop_grace_ms":0,"reconnect_window_ms":60000,"pack_output":true})",
      R"({"type":"ready","run_directory":"/","ports":1})",
      R"({"type":"ready","run_directory":"/","ports":["1"]})",
      // out of range
      R"({"type":"stop","grace_ms":-1})", R"({"type":"stop","grace_ms":604800001})",
      R"({"type":"stop","grace_ms":18446744073709551615})", R"({"type":"stop","grace_ms":1e400})",
      R"({"type":"go","address":"a","port":65536,"megascale_address":"","megascale_port":0,)"
      R"("workers":[]})",
      R"({"type":"go","address":"a","port":1,"megascale_address":"","megascale_port":65536,)"
      R"("workers":[]})",
      R"({"type":"prepare","task":"t","ranks":[],"hold_ports":65536,"files":[],)"
      R"("stop_grace_ms":0,"reconnect_window_ms":60000,"pack_output":true})",
      R"({"type":"prepare","task":"t","ranks":[],"hold_ports":0,"files":[],)"
      R"("stop_grace_ms":0,"reconnect_window_ms":-1,"pack_output":true})",
      R"({"type":"prepare","task":"t","ranks":[],"hold_ports":0,"files":[],)"
      R"("stop_grace_ms":0,"reconnect_window_ms":60000,"pack_output":1})",
      R"({"type":"prepare","task":"t","ranks":[],"hold_ports":0,"files":[],)"
      R"("stop_grace_ms":0,"reconnect_window_ms":604800001,"pack_output":true})",
      R"({"type":"prepare","task":"t","ranks":[],"hold_ports":0,"files":[],)"
      R"("stop_grace_ms":0,"pack_output":true})",
      R"({"type":"ack","chunk":1})", R"({"type":"ack","chunk":-1,"credit":1})",
      R"({"type":"ack","chunk":1,"credit":-1})", R"({"type":"ack","chunk":1,"credit":1.5})",
      R"({"type":"ping","sent":1})", R"({"type":"ping","sent":1,"newest_pong":-1})",
      R"({"type":"ping","sent":1,"newest_pong":2305843009213693953})", R"({"type":"no_agent"})",
      R"({"type":"no_agent","boot_id":7})",
      R"({"type":"no_agent","boot_id":")" + std::string(longest_name + 1, 'x') + "\"}",
      R"({"type":"prepare","task":"t","ranks":[],"hold_ports":-1,"files":[],)"
      R"("stop_grace_ms":0,"reconnect_window_ms":60000,"pack_output":true})",
      R"({"type":"ready","run_directory":"/","ports":[0]})",
      R"({"type":"ready","run_directory":"/","ports":[1,65536]})",
      R"({"type":"started","rank":-1,"pid":1})", R"({"type":"started","rank":2147483648,"pid":1})",
      R"({"type":"ping","sent":2305843009213693953})",
      R"({"type":"blocked","call":"x","so_far_ms":-1})",
      R"({"type":"port_taken","port":0,"uid":1})", R"({"type":"port_taken","port":1,"uid":-1})",
      R"({"type":"port_taken","port":1,"uid":4294967296})",
      R"({"type":"not_started","rank":0,"reason":"x"})",
      R"({"type":"not_started","rank":0,"reason":"x","class":"worker"})",
      R"({"type":"agent_failed","reason":")" + std::string(longest_trouble + 1, 'x') + "\"}",
      R"({"type":"pong","sent":0,"answered":9223372036854775807})",
      // contradictions
      R"({"type":"refused","problems":[],"host_trouble":false})",
      R"({"type":"ended","rank":0,"core":false,"after_stop":false,"at":1})",
      R"({"type":"ended","rank":0,"code":0,"signal":9,"core":false,)"
      R"("after_stop":false,"at":1})",
      R"({"type":"ended","rank":0,"code":256,"core":false,)"
      R"("after_stop":false,"at":1})",
      R"({"type":"ended","rank":0,"signal":0,"core":false,)"
      R"("after_stop":false,"at":1})",
      // bytes as hex
      with_address(R"({"hex":"0"})"), with_address(R"({"hex":"zz"})"), with_address(R"({"hex":7})"),
      with_address("{}"));
  INFO(payload);
  const auto message = decode_message(payload);
  REQUIRE_FALSE(message);
  CHECK(message.error().error_class == ErrorClass::host);
}

TEST_CASE("commands that could not be executed are refused") {
  const auto command =
      GENERATE(as<std::string>{},  //
               R"({"rank":0,"working_directory":"/","environment":[],"argv":[]})",
               R"({"rank":0,"working_directory":"/","environment":[],"shell":""})",
               R"({"rank":0,"working_directory":"/","environment":[]})",
               R"({"rank":0,"working_directory":"/","argv":["a"]})",
               R"({"rank":0,"working_directory":"/","argv":["a"],"environment":[{"name":"A"}]})",
               R"({"rank":0,"working_directory":"/","argv":["a"],"environment":[{"value":"A"}]})",
               R"({"rank":0,"working_directory":"/","argv":["a"],)"
               R"("environment":[{"name":"A","at_launch":"weather"}]})",
               R"({"rank":0,"working_directory":"/","argv":["a"],)"
               R"("environment":[{"name":"A","value":"v","secret":1}]})");
  CHECK_FALSE(decode_message(R"({"type":"prepare","task":"t","hold_ports":0,"files":[],)"
                             R"("stop_grace_ms":0,"reconnect_window_ms":60000,"pack_output":true,)"
                             R"("ranks":[)" +
                             command + "]}"));
}

TEST_CASE("a file of the run directory has a plain name") {
  const auto with_file = [](const std::string& name) {
    return decode_message(
        R"({"type":"prepare","task":"t","hold_ports":0,"stop_grace_ms":0,"reconnect_window_ms":60000,)"
        R"("pack_output":true,"ranks":[],"files":[{"name":)" +
        name + R"(,"text":"{}"}]})");
  };
  CHECK(with_file(R"("data.json")"));
  for (const char* name : {R"("")", R"("..")", R"(".profile")", R"("a/b")", R"("/etc/passwd")",
                           R"({"hex":"610062"})", "7"})
    CHECK_FALSE(with_file(name));
  CHECK_FALSE(with_file('"' + std::string(65, 'a') + '"'));
}

TEST_CASE("a context has the name of a file that is none of the host's") {
  const auto with_context = [](const std::string& sha256, const std::string& size) {
    return decode_message(R"({"type":"prepare","task":"t","hold_ports":0,"stop_grace_ms":0,)"
                          R"("reconnect_window_ms":60000,"pack_output":true,"ranks":[],"files":[],)"
                          R"("context":{"sha256":")" +
                          sha256 + R"(","size":)" + size + "}}");
  };
  const std::string good(64, '0');
  CHECK(with_context(good, "1024"));
  for (const std::string& bad : {std::string(), good + "0", good.substr(1), "../" + good.substr(3),
                                 good.substr(1) + "F", good.substr(1) + "/"})
    CHECK_FALSE(with_context(bad, "1024"));
  for (const char* bad : {"-1", "\"1\"", "null", "536870913"}) CHECK_FALSE(with_context(good, bad));
}

TEST_CASE("of another version nothing is read but its number") {
  const auto hello = decode_message(R"({"type":"hello","version":9,"host_name":7})");
  REQUIRE(hello);
  CHECK(std::get<message::Hello>(*hello).version == 9);
  const auto attach = decode_message(R"({"type":"attach","version":9,"positions":7})");
  REQUIRE(attach);
  CHECK(std::get<message::Attach>(*attach).version == 9);
  CHECK(decode_message(hello_with(R"("has_started":true,"stop":"none")")));
  CHECK(decode_message(attach_with(R"("positions":[[1,2]],"credit":1)")));
}

TEST_CASE("an address that is a string is taken") {
  CHECK(decode_message(with_address(R"("10.0.0.1")")));
}

TEST_CASE("a host cannot send more ports than it may be asked for") {
  const auto ready = [](const std::string& ports) {
    return decode_message(R"({"type":"ready","run_directory":"/","gpus":{"cuda":[],"rocm":[],)"
                          R"("split":0,"hidden":0,"obstacle":0},"ports":[)" +
                          ports + "]}");
  };
  std::string ports = "1";
  for (int i = 1; i < most_held_ports; ++i) ports += ",1";
  CHECK(ready(ports));
  CHECK_FALSE(ready(ports + ",1"));
  CHECK_FALSE(ready("0"));
  CHECK_FALSE(ready("65536"));
}

TEST_CASE("a host cannot say that it has GPUs that no host has") {
  const auto ready = [](const std::string& gpus) {
    return decode_message(R"({"type":"ready","run_directory":"/","ports":[],"gpus":)" + gpus + "}");
  };
  const auto of_cuda = [&](const std::string& devices) {
    return ready(R"({"cuda":[)" + devices + R"(],"rocm":[],"split":0,"hidden":0,"obstacle":0})");
  };
  CHECK(of_cuda("0,1023"));
  for (const char* bad : {"1024", "-1", "1,1", "\"1\"", "1.5", "null"}) {
    CAPTURE(bad);
    CHECK_FALSE(of_cuda(bad));
  }
  CHECK_FALSE(ready("{}"));
  CHECK_FALSE(ready("[]"));
  CHECK_FALSE(ready(R"({"cuda":[],"rocm":[],"split":0,"hidden":0,"obstacle":4})"));
  CHECK_FALSE(ready(R"({"cuda":[],"rocm":[],"split":1025,"hidden":0,"obstacle":0})"));
  CHECK_FALSE(decode_message(R"({"type":"go","address":"a","port":1,"megascale_address":"",)"
                             R"("megascale_port":0,"workers":[],"slots":"some"})"));
}

TEST_CASE("hostile nesting is refused without becoming a tree") {
  for (const int depth : {17, 1'000'000}) {
    const std::string open(static_cast<std::size_t>(depth), '[');
    CHECK_FALSE(decode_message(open));
    CHECK_FALSE(
        decode_message(R"({"type":"bye","x":)" + open + std::string(open.size(), ']') + "}"));
  }
  CHECK(decode_message(R"({"type":"bye","x":"[[[[[[[[[[[[[[[[[[[[\"[[["})"));
}

TEST_CASE("output comes back byte for byte") {
  for (const std::string& bytes :
       {""s, "line\n"s, not_text + with_nul, std::string(max_chunk_bytes, '\xff')}) {
    const OutputChunk chunk{UINT64_MAX,
                            INT32_MAX,
                            OutputStream::err,
                            bytes,
                            Instant((std::int64_t{1} << 62) - 1),
                            (std::uint64_t{1} << 62) - 1};
    for (const OutputPacking packing : {OutputPacking::none, OutputPacking::lz4}) {
      const auto back = decode_output(encode_output(chunk, packing));
      REQUIRE(back);
      CHECK(*back == chunk);
    }
  }
}

TEST_CASE("output is packed where that makes it shorter") {
  const auto packed_size = [](const std::string& bytes) {
    return encode_output({1, 2, OutputStream::out, bytes}, OutputPacking::lz4).size();
  };
  const auto size = [](const std::string& bytes) {
    return encode_output({1, 2, OutputStream::out, bytes}).size();
  };
  CHECK(packed_size(std::string(max_chunk_bytes, 'x')) < 1'000);
  CHECK(packed_size("a line\n") == size("a line\n"));
  std::mt19937 random(1);
  std::string noise(max_chunk_bytes, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  CHECK(packed_size(noise) == size(noise));
  CHECK(decode_output(encode_output({1, 2, OutputStream::out, noise}, OutputPacking::lz4))->bytes ==
        noise);
}

TEST_CASE("packed output that is none is refused, and never becomes more than a chunk") {
  const OutputChunk chunk{1, 2, OutputStream::out, std::string(max_chunk_bytes, 'x')};
  const std::string payload = encode_output(chunk, OutputPacking::lz4);
  const auto with_size = [&](std::uint32_t size) {
    std::string changed = payload.substr(0, unpacked_size_at);
    for (int shift = 24; shift >= 0; shift -= 8) changed += static_cast<char>(size >> shift);
    return changed + payload.substr(unpacked_size_at + 4);
  };
  CHECK(decode_output(with_size(max_chunk_bytes)));
  for (const std::uint32_t size : {1u, 65'535u, 65'537u, 0x7fffffffu, 0xffffffffu})
    CHECK_FALSE(decode_output(with_size(size)));
  for (std::size_t length = header_size; length < payload.size(); ++length)
    CHECK_FALSE(decode_output(payload.substr(0, length)));
  CHECK_FALSE(decode_output(payload + "x"));
}

TEST_CASE("malformed output is refused") {
  const OutputChunk good{1, 2, OutputStream::out, "x"};
  const std::string payload = encode_output(good);
  const auto with = [&](std::size_t at, char byte) {
    std::string changed = payload;
    changed[at] = byte;
    return changed;
  };
  CHECK(decode_output(payload));
  for (std::size_t length = 0; length < header_size; ++length)
    CHECK_FALSE(decode_output(payload.substr(0, length)));
  CHECK_FALSE(decode_output(with(7, '\0')));     // number 0
  CHECK_FALSE(decode_output(with(8, '\x80')));   // a negative rank
  CHECK_FALSE(decode_output(with(12, '\x40')));  // a position that overflows
  CHECK_FALSE(decode_output(with(12, '\xff')));
  CHECK_FALSE(decode_output(with(20, '\0')));  // a stream that there is not
  CHECK_FALSE(decode_output(with(20, '\3')));
  CHECK_FALSE(decode_output(with(25, '\x40')));  // a time that overflows
  CHECK_FALSE(decode_output(with(25, '\xff')));
  CHECK_FALSE(decode_output(payload + std::string(max_chunk_bytes, 'x')));
}

TEST_CASE("what an agent says of its troubles is cut to what a launcher takes") {
  const std::string longer(longest_trouble + 1, 'x');
  const std::string cut(longest_trouble, 'x');
  CHECK(decode_message(encode_message(message::AgentFailed{longer})) ==
        Message(message::AgentFailed{cut}));
  CHECK(decode_message(encode_message(message::Blocked{longer, milliseconds(1)})) ==
        Message(message::Blocked{cut, milliseconds(1)}));
}
