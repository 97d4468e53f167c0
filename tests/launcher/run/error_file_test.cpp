// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/error_file.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("the message of an error file is found, however it is wrapped") {
  CHECK(message_of_error_file(R"({"message": "boom"})") == "boom");
  CHECK(message_of_error_file(R"({"message": {"message": "boom\nat x", "extraInfo": {}}})") ==
        "boom");
  CHECK(message_of_error_file(R"({"a": [{"message": "no"}], "b": {"message": "no"},)"
                              R"( "message": {"x": {"message": "no"}, "message": "boom"}})") ==
        "boom");
  CHECK(message_of_error_file("Traceback\nmore") == "Traceback");
  CHECK(message_of_error_file("") == "");
  CHECK(message_of_error_file(R"([{"message": "no"}])") == R"([{"message": "no"}])");
}

TEST_CASE("an error file that was cut off below its message still has it") {
  CHECK(message_of_error_file(R"({"message": {"message": "boom", "extraInfo": {"py_calls)") ==
        "boom");
}

TEST_CASE("an error file may be anything") {
  std::string deep(1 << 16, '[');
  CHECK(message_of_error_file(deep).size() == 403);
  for (std::string& level : std::vector<std::string>{R"({"message":)", R"({"x":)"}) {
    deep.clear();
    for (int i = 0; i < 10'000; ++i) deep += level;
    CHECK(message_of_error_file(deep).size() == 403);
  }
  CHECK(message_of_error_file(R"({"message": 1, "message": null, "message": true})").front() ==
        '{');
  std::string umlauts = "x";
  for (int i = 0; i < 500; ++i) umlauts += "\xc3\xa4";
  CHECK(message_of_error_file(umlauts) == umlauts.substr(0, 399) + "...");
}
