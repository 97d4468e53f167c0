// SPDX-License-Identifier: Apache-2.0
#include "config_schema/user_file.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

std::string refusal_of(const std::string& text) {
  const auto file = parse_user_file({"c", text});
  REQUIRE_FALSE(file);
  CHECK(file.error().error_class == ErrorClass::config);
  return render(file.error());
}

}  // namespace

TEST_CASE("the defaults of a user keep their lines and columns") {
  const auto file =
      parse_user_file({"c", "flags: {}\ndefaults:\n  name: x\n  data:\n    a: 1\nx-own: 2\n"});
  REQUIRE(file);
  CHECK(file->defaults == ExperimentDefaults{"c", "\n\n  name: x\n  data:\n    a: 1\n"});
  const auto on_one_line = parse_user_file({"c", "defaults: {name: x}\n"});
  REQUIRE(on_one_line);
  CHECK(on_one_line->defaults.text == "          {name: x}\n");
}

TEST_CASE("a user's file may be empty, and so may its parts") {
  for (const char* text : {"", "# nothing\n", "defaults:\nflags:\n", "defaults: {}\n"}) {
    const auto file = parse_user_file({"c", text});
    REQUIRE(file);
    CHECK(file->defaults.text.empty());
    CHECK(file->flags->entries.empty());
  }
}

TEST_CASE("faults of a user's file are told without its secrets") {
  const std::string told =
      refusal_of("defaults:\n  checkpoint_storage: {type: s4, secret_key: hidden-word}\n");
  CHECK(told.starts_with("c:2:"));
  CHECK(told.find("hidden-word") == std::string::npos);
  CHECK(refusal_of("defaults: {bucket: b, secret_key: hidden-word\n").find("hidden-word") ==
        std::string::npos);
  CHECK(refusal_of("defaults:\n  name: *elsewhere\n").starts_with("c:2:"));
}

TEST_CASE("defaults fill in what an experiment lacks") {
  ExperimentOverrides overrides;
  overrides.defaults = {"c", "stop_grace: 20s\nresources: {slots_per_trial: 2, priority: 7}\n"};
  const auto alone = parse_experiment({"e", "entrypoint: x\n"}, overrides);
  REQUIRE(alone);
  CHECK(alone->workers == 2);
  CHECK(alone->stop_grace == std::chrono::seconds(20));
  const auto other_name =
      parse_experiment({"e", "entrypoint: x\nslots_per_trial: 3\nstop_grace:\n"}, overrides);
  REQUIRE(other_name);
  CHECK(other_name->workers == 3);
  CHECK(other_name->priority == 7);
  CHECK(other_name->stop_grace == std::chrono::seconds(10));
}
