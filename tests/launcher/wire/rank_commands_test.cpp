// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/rank_commands.hpp"

#include <nlohmann/json.hpp>
#include <random>

#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/message_limits.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

using Random = std::mt19937;

int up_to(int most, Random& random) { return static_cast<int>(random() % (most + 1)); }

// Few names and values, so that neighbours have many in common.
std::vector<EnvironmentEntry> random_environment(Random& random) {
  std::vector<EnvironmentEntry> environment;
  for (char name = 'a'; name <= 'f'; ++name) {
    if (up_to(3, random) == 0) continue;
    EnvironmentEntry entry{std::string(1, name), std::to_string(up_to(1, random))};
    if (up_to(9, random) == 0) entry.is_default = true;
    if (up_to(9, random) == 0) entry.secret = true;
    if (up_to(9, random) == 0) entry.at_launch = AtLaunch::error_file;
    environment.push_back(entry);
  }
  if (up_to(9, random) == 0) std::shuffle(environment.begin(), environment.end(), random);
  if (!environment.empty() && up_to(9, random) == 0) environment.push_back(environment.front());
  return environment;
}

RankCommand random_command(Random& random) {
  RankCommand command;
  command.rank = up_to(1000, random);
  command.working_directory = up_to(4, random) == 0 ? "/a" : "/b";
  if (up_to(4, random) == 0)
    command.entrypoint.shell = "true";
  else
    command.entrypoint.argv = {"python3", up_to(4, random) == 0 ? "a.py" : "b.py"};
  command.environment = random_environment(random);
  if (up_to(1, random) == 0) command.setup = up_to(4, random) == 0 ? "make" : "cmake";
  return command;
}

RankCommand rank_with(int rank, std::string text) {
  RankCommand command;
  command.rank = rank;
  command.entrypoint.shell = "true";
  command.working_directory = "/";
  command.environment = {{"RANK", std::to_string(rank)}, {"TEXT", std::move(text)}};
  return command;
}

}  // namespace

TEST_CASE("commands of ranks come back as they were, whatever neighbours have in common") {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<RankCommand> commands(static_cast<std::size_t>(up_to(6, random)));
    for (RankCommand& command : commands) command = random_command(random);
    const auto written = json_of_ranks(commands);
    INFO(written.dump(1));
    REQUIRE(ranks_of_json(written) == commands);
  }
}

TEST_CASE("what ranks have in common is written once") {
  const std::string text(1000, 'x');
  std::vector<RankCommand> commands;
  for (int rank = 0; rank < 8; ++rank) commands.push_back(rank_with(rank, text));
  CHECK(json_of_ranks(commands).dump().size() < 2 * text.size());
}

TEST_CASE("a short text does not stand for more than an agent has room for") {
  const std::string text(most_rank_bytes / 100, 'x');
  std::vector<RankCommand> commands;
  for (int rank = 0; rank < 99; ++rank) commands.push_back(rank_with(rank, text));
  CHECK(ranks_of_json(json_of_ranks(commands)).size() == 99);
  commands.push_back(rank_with(99, text));
  CHECK_THROWS_AS(ranks_of_json(json_of_ranks(commands)), Malformed);
}

TEST_CASE("the first rank leaves nothing out") {
  const std::vector<RankCommand> one = {rank_with(0, "x")};
  for (const char* field : {"rank", "working_directory", "shell", "environment"}) {
    auto written = json_of_ranks(one);
    written[0].erase(field);
    INFO(field);
    CHECK_THROWS_AS(ranks_of_json(written), Malformed);
  }
}
