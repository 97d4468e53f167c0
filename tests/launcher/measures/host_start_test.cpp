// SPDX-License-Identifier: Apache-2.0
#include "launcher/measures/host_start.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("the start of an attempt survives its line") {
  AttemptStart start{1, 1'764'000'000'000, {{"node01"}, {"node02"}}};
  start.hosts[1].at[static_cast<std::size_t>(StartStep::is_ready)] = 1'250;
  const std::string line = encode_start(start);
  CHECK(line.find("\"is_ready\":1250") != line.npos);
  const auto read = decode_start(line);
  REQUIRE(read);
  CHECK(*read == start);
  CHECK(read->hosts[1].when(StartStep::is_ready) == 1'250);
  CHECK_FALSE(read->hosts[0].when(StartStep::is_ready));
  CHECK_FALSE(decode_start("{}"));
}
