// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/start_line.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

HostStart host_with(const std::string& name,
                    const std::vector<std::pair<StartStep, std::int64_t>>& steps) {
  HostStart host{name, {}};
  for (const auto& [step, at] : steps) host.at[static_cast<std::size_t>(step)] = at;
  return host;
}

std::string bars_of(const TimeRow& row, std::int64_t begun) {
  std::string text;
  for (const TimeBar& bar : row.bars)
    text += std::to_string(bar.begin - begun) + "-" + std::to_string(bar.end - begun) + " " +
            bar.words + "\n";
  return text;
}

}  // namespace

TEST_CASE("the start of a host is drawn step by step, and a step that is not known has no bar") {
  const AttemptStart start{
      0,
      5'000,
      {host_with("node01", {{StartStep::connected, 20},
                            {StartStep::logged_in, 150},
                            {StartStep::agent_runs, 1'200},
                            {StartStep::is_ready, 1'300},
                            {StartStep::told_to_start, 4'300},
                            {StartStep::ranks_started, 4'350}}),
       host_with("node02", {{StartStep::agent_runs, 0}, {StartStep::is_ready, 4'200}}),
       host_with("node03", {})}};
  const TimeLine line = start_line_of(start);
  REQUIRE(line.rows.size() == 3);
  CHECK(line.remark.empty());
  CHECK(bars_of(line.rows[0], 5'000) ==
        "0-20 connecting, 0.0s\n20-150 logging in, 0.1s\n150-1200 starting the agent, 1.0s\n"
        "1200-1300 checks and leases, 0.1s\n1300-4300 waiting, 3.0s\n"
        "4300-4350 starting ranks, 0.0s\n");
  CHECK(bars_of(line.rows[1], 5'000) ==
        "0-0 starting the agent, 0.0s\n0-4200 checks and leases, "
        "4.2s\n");
  CHECK(line.rows[2].bars.empty());
  const ReportTable table = start_table_of(start);
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[0][0].text == "node01");
  CHECK(table.rows[0][3].text == "1.05");
  CHECK(table.rows[1][1].text == "-");
}

TEST_CASE("of very many hosts the slowest are drawn, and first those that were never ready") {
  AttemptStart start{0, 0, {}};
  for (int i = 0; i < 100; ++i)
    start.hosts.push_back(host_with("n" + std::to_string(i), {{StartStep::is_ready, i}}));
  start.hosts[7].at = {};
  const TimeLine line = start_line_of(start);
  REQUIRE(line.rows.size() == 64);
  CHECK(line.rows[0].name == "n7");
  CHECK(line.rows[1].name == "n99");
  CHECK(line.remark == "The slowest 64 of 100 hosts are drawn.");
  CHECK(start_table_of(start).rows.size() == 100);
}
