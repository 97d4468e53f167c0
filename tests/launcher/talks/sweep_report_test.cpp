// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/sweep_report.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("a sweep report arrives as it was sent, in one line") {
  const SweepReport report{true, true, 12, {{34, 0, "a b"}, {35, 1000, "\xff\n\"quote\""}}};
  const std::string line = encode_sweep_report(report);
  CHECK(line.find('\n') == line.size() - 1);
  const auto read = decode_sweep_report(std::string_view(line).substr(0, line.size() - 1));
  REQUIRE(read);
  CHECK(*read == report);
}

TEST_CASE("a report of very many survivors stays short") {
  SweepReport report;
  for (int i = 0; i < 100'000; ++i) report.survivors.push_back({i, 0, std::string(200, '\xff')});
  CHECK(encode_sweep_report(report).size() <= longest_sweep_report);
}

TEST_CASE("what is no sweep report is refused") {
  const std::string good = R"({"running":false,"state":true,"ended":1,"survivors":[]})";
  REQUIRE(decode_sweep_report(good));
  for (const std::string& bad : std::vector<std::string>{
           std::string(), std::string("{}"), std::string("[]"), std::string("null"), good + "x",
           std::string(R"({"running":0,"state":true,"ended":1,"survivors":[]})"),
           std::string(R"({"running":false,"state":true,"ended":-1,"survivors":[]})"),
           std::string(R"({"running":false,"state":true,"ended":99999999999,"survivors":[]})"),
           std::string(R"({"running":false,"state":true,"ended":1,"survivors":[7]})"),
           std::string(R"({"running":false,"state":true,"ended":1,"survivors":{}})"),
           std::string(100'000, '['), good + std::string(longest_sweep_report, ' ')}) {
    CAPTURE(bad.substr(0, 80));
    const auto read = decode_sweep_report(bad);
    REQUIRE_FALSE(read);
    CHECK(read.error().error_class == ErrorClass::host);
  }
}
