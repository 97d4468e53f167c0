// SPDX-License-Identifier: Apache-2.0
#include "launcher/control/control_talk.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

std::string_view without_end(const std::string& line) {
  REQUIRE(line.ends_with('\n'));
  REQUIRE(line.find('\n') == line.size() - 1);
  return std::string_view(line).substr(0, line.size() - 1);
}

ControlStatus a_status() {
  ControlStatus status;
  status.attempt = 2;
  status.max_restarts = 5;
  status.phase = "running";
  status.ranks_left = 7;
  status.hosts = {{"n1", "running"}, {"n2", "out of reach"}};
  status.usage = {{0, {milliseconds(1'500), 7, 8}}, {3, {milliseconds(0), {}, 9}}};
  return status;
}

}  // namespace

TEST_CASE("what is said over a control socket is heard as it was meant") {
  const ControlGreeting greeting{control_version, "abcdefgh", 4711, "0.1.0"};
  CHECK(*decode_greeting(without_end(encode_greeting(greeting))) == greeting);
  for (const ControlRequest& request :
       {ControlRequest(control_request::Stop{15}), ControlRequest(control_request::Status{}),
        ControlRequest(control_request::Lend{"/tmp/ssh-\xff/agent", "KEYRING:persistent:1000"}),
        ControlRequest(control_request::KillTrial{0}),
        ControlRequest(control_request::KillTrial{highest_trial})})
    CHECK(*decode_control_request(without_end(encode_control_request(request))) == request);
  for (const ControlAnswer& answer :
       {ControlAnswer{"", a_status()}, ControlAnswer{"no", {}},
        ControlAnswer{"", {}, {"n1"}, {"n1", "n2"}}, ControlAnswer{"", {}, {}, {}, "stopping"}})
    CHECK(*decode_answer(without_end(encode_answer(answer))) == answer);
}

TEST_CASE("names of any bytes fit into a line") {
  ControlAnswer answer{"", a_status()};
  answer.status.hosts[0].name = "n\n\xff\"";
  const std::string line = encode_answer(answer);
  const auto heard = decode_answer(without_end(line));
  REQUIRE(heard);
  CHECK(*heard == answer);
}

TEST_CASE("every beginning of a line is refused, and so is what is none of ours") {
  for (const std::string& whole : {encode_control_request(control_request::Stop{15}),
                                   encode_control_request(control_request::Status{}),
                                   encode_control_request(control_request::KillTrial{3})})
    for (std::size_t size = 0; size + 1 < whole.size(); ++size)
      CHECK_FALSE(decode_control_request(std::string_view(whole).substr(0, size)));
  const std::string answer = encode_answer({"", a_status()});
  for (std::size_t size = 0; size + 1 < answer.size(); ++size)
    CHECK_FALSE(decode_answer(std::string_view(answer).substr(0, size)));
  for (const char* line : {"[]",
                           "1",
                           "null",
                           "{}",
                           R"({"do":"dance"})",
                           R"({"do":1})",
                           R"({"do":"stop"})",
                           R"({"do":"stop","signal":0})",
                           R"({"do":"stop","signal":65})",
                           R"({"do":"lend"})",
                           R"({"do":"lend","agent_socket":"/a"})",
                           R"({"do":"lend","agent_socket":"/a\u0000b","kerberos_cache":""})",
                           R"({"do":"lend","agent_socket":1,"kerberos_cache":""})",
                           R"({"do":"stop","signal":"TERM"})",
                           R"({"do":"stop","signal":9.5})",
                           R"({"do":"kill_trial"})",
                           R"({"do":"kill_trial","trial":-1})",
                           R"({"do":"kill_trial","trial":1000000000})",
                           R"({"do":"kill_trial","trial":18446744073709551616})",
                           R"({"do":"kill_trial","trial":"3"})",
                           R"({"do":"kill_trial","trial":3.5})"}) {
    INFO(line);
    const auto request = decode_control_request(line);
    REQUIRE_FALSE(request);
    CHECK(request.error().error_class == ErrorClass::host);
  }
}

TEST_CASE("lines that are too long are not even looked at") {
  const std::string padding(longest_control_request, ' ');
  CHECK_FALSE(decode_control_request(padding + R"({"do":"status"})"));
  CHECK(decode_control_request(R"({"do":"status"})" + std::string(100, ' ')));
}
