// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;
using nlohmann::json;

namespace {

bool is_valid(const json& document) {
  std::ifstream file(TRAIN_SOURCE_DIR "/config_schema/fields/plan.schema.json");
  const json schema_text = json::parse(file);
  valijson::Schema schema;
  const valijson::adapters::NlohmannJsonAdapter schema_adapter(schema_text);
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(schema_adapter, schema);
  const valijson::adapters::NlohmannJsonAdapter adapter(document);
  return valijson::Validator().validate(schema, adapter, nullptr);
}

std::string planned_json(const ExperimentConfig& experiment, const HostInventory& hosts,
                         const EnvironmentMap& launcher = {}) {
  const auto users = resolve_environment(experiment, launcher);
  REQUIRE(users);
  const auto plan = make_plan(experiment, hosts, {}, *users);
  REQUIRE(plan);
  return plan_to_json(*plan);
}

json example() {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.global_batch_size = 66;
  experiment.environment = {{"TOKEN", std::nullopt, {}}};
  return json::parse(planned_json(experiment, gpu_inventory({2, 2}), {{"TOKEN", "s3cret"}}));
}

}  // namespace

TEST_CASE("a plan is written as its schema says") {
  const json document = example();
  CHECK(is_valid(document));
  CHECK(document["experiment"] == "digits");
  const json& trial = document["trials"][0];
  CHECK(trial["slots"] == 4);
  CHECK(trial["batch_sum"] == 64);
  CHECK(trial["hosts"][1] == json::parse(R"({"host":"n2","slots":[0,1],"ranks":[2,3]})"));
  json rank = trial["ranks"][3];
  CHECK(rank["env"]["MASTER_PORT"] == json{{"at_launch", "rendezvous_port"}});
  CHECK(rank["env"]["TOKEN"] == json{{"redacted", true}});
  CHECK(rank["env"]["RANK"] == "3");
  rank.erase("env");
  CHECK(rank == json::parse(R"({"rank":3,"local_rank":1,"node_rank":1,"host":"n2","devices":[1],
                                "batch_size":16,"batch_offset":48})"));
  CHECK(document["warnings"].size() == 1);
}

TEST_CASE("a secret is nowhere in the document") {
  CHECK(example().dump().find("s3cret") == std::string::npos);
}

TEST_CASE("plans of every kind follow the schema") {
  CHECK(is_valid(json::parse(planned_json(gpu_experiment(3, 0.5), gpu_inventory({2})))));
  CHECK(is_valid(json::parse(planned_json(cpu_experiment(2, 1), gpu_inventory({2})))));
  CHECK(is_valid(json::parse(planned_json(slot_experiment(1), inventory_of({plain_host("n1")})))));
  CHECK(json::parse(
            planned_json(gpu_experiment(3, 0.5), gpu_inventory({2})))["trials"][0]["slots"] == 1.5);
}

TEST_CASE("refusals follow the schema") {
  const auto plan = make_plan(slot_experiment(12), gpu_inventory({8, 8}));
  REQUIRE_FALSE(plan);
  const json document = json::parse(refusal_to_json(plan.error()));
  CHECK(is_valid(document));
  CHECK(document["refused"]["kind"] == "never");
  CHECK(document["refused"]["nearest"] == json::array({8, 16}));
  CHECK(document["refused"]["changes"] == json::array({"--set resources.placement=pack"}));
}

TEST_CASE("a busy refusal names who holds what") {
  const Occupancy held = {
      {.host = "n1", .holder = "task 1 of alice", .slots = {{0, amount(0.5)}, {1, amount(1)}}},
      {.host = "n2", .holder = "task 1 of alice", .slots = {{0, amount(1)}}}};
  const auto plan = make_plan(slot_experiment(16), gpu_inventory({8, 8}), held);
  REQUIRE_FALSE(plan);
  const json document = json::parse(refusal_to_json(plan.error()));
  CHECK(is_valid(document));
  CHECK(document["refused"]["kind"] == "busy");
  CHECK(document["refused"]["holders"] ==
        json::parse(R"([{"holder":"task 1 of alice","hosts":["n1","n2"],"slots":2.5}])"));
  CHECK(render(to_error(plan.error())) ==
        "not now, of what is free: 16 slots asked, the 2 hosts have 13: n1 6, n2 7\n"
        "  task 1 of alice holds 2.5 slots of n[1-2]\n"
        "  nearest count that fits: 7");
}

TEST_CASE("the context stands beside the plan, with its warnings after the plan's") {
  auto plan = make_plan(slot_experiment(2), gpu_inventory({2}));
  REQUIRE(plan);
  plan->warnings = {{{"hosts.yaml", 3, 0, {}}, {}, "named twice", "name it once"}};
  const PlannedContext context{"code", std::string(64, 'a'), 2, 30, {"it has a key"}};
  const json document = json::parse(plan_to_json(*plan, context));
  CHECK(is_valid(document));
  CHECK(document["context"] ==
        json{{"directory", "code"}, {"sha256", std::string(64, 'a')}, {"files", 2}, {"bytes", 30}});
  CHECK(document["warnings"] == json{"hosts.yaml:3: named twice; name it once", "it has a key"});
  CHECK_FALSE(json::parse(plan_to_json(*plan)).contains("context"));
}

TEST_CASE("how many trials run at once is in the document") {
  auto plan = make_plan(slot_experiment(2), gpu_inventory({2}));
  REQUIRE(plan);
  plan->trials = TrialCounts{
      .trials = {}, .fit = 6, .at_once = 4, .limit = TrialCounts::Limit::max_concurrent_trials};
  json document = json::parse(plan_to_json(*plan));
  CHECK(is_valid(document));
  CHECK(document["concurrency"] ==
        json::parse(R"({"trials":null,"at_once":4,"limit":"max_concurrent_trials","fit":6,
                        "fit_is_at_least":false})"));
  document["concurrency"]["limit"] = "mood";
  CHECK_FALSE(is_valid(document));
}

TEST_CASE("a search is in the document, as its schema has it") {
  ExperimentConfig experiment = slot_experiment(2);
  SearchConfig search;
  search.settings.method = SearchMethod::adaptive_asha;
  search.settings.length = 1000;
  search.settings.max_trials = 100;
  search.space = {{"lr", {parameter::Range{-4, -1, 10, {}}}},
                  {"depth", {parameter::Constant{"3"}}}};
  experiment.search_config = search;
  json document = json::parse(planned_json(experiment, gpu_inventory({2})));
  CHECK(is_valid(document));
  const json& shown = document["search"];
  CHECK(shown["method"] == "adaptive_asha");
  CHECK(shown["unit"] == "steps");
  CHECK(shown["brackets"][2] == json::parse(R"({"rungs":[250,1000],"trials":8,"at_once":5})"));
  CHECK(shown["lengths"][0] == json::parse(R"({"trials":53,"units":15})"));
  CHECK(shown["first"].size() == 5);
  CHECK(shown["first"][0]["hyperparameters"]["depth"] == 3);
  document["search"]["brackets"][0]["rungs"][0] = "soon";
  CHECK_FALSE(is_valid(document));
}

TEST_CASE("a damaged document is refused by the schema") {
  struct Damage {
    const char* what;
    const char* pointer;
    json value;
  };
  const std::vector<Damage> damages{
      {"no trials", "/trials", json::array()},
      {"text for a number", "/trials/0/world_size", "4"},
      {"half a rank", "/trials/0/ranks/0/rank", 0.5},
      {"negative batch", "/trials/0/batch_sum", -1},
      {"slot twice", "/trials/0/hosts/0/slots", json::array({0, 0})},
      {"unknown key", "/trials/0/ranks/0/colour", "red"},
      {"unknown fact", "/trials/0/ranks/0/env/MASTER_PORT", json{{"at_launch", "weather"}}},
      {"number in the environment", "/trials/0/ranks/0/env/RANK", 0},
      {"half redacted", "/trials/0/ranks/0/env/TOKEN", json{{"redacted", false}}},
      {"plan and refusal at once", "/refused", json::object()},
  };
  for (const Damage& damage : damages) {
    CAPTURE(damage.what);
    json document = example();
    document[json::json_pointer(damage.pointer)] = damage.value;
    CHECK_FALSE(is_valid(document));
  }
  for (const char* key : {"experiment", "trials", "warnings", "advice"}) {
    CAPTURE(key);
    json document = example();
    document.erase(key);
    CHECK_FALSE(is_valid(document));
  }
  CHECK_FALSE(is_valid(
      json::parse(R"({"refused":{"kind":"maybe","reasons":["x"],"nearest":[],"changes":[]}})")));
}

TEST_CASE("the same plan is the same bytes, and ends with a newline") {
  const std::string first = planned_json(slot_experiment(4), gpu_inventory({2, 2}));
  CHECK(first == planned_json(slot_experiment(4), gpu_inventory({2, 2})));
  CHECK(first.back() == '\n');
  CHECK(first.find("{\n  \"experiment\": \"digits\",\n  \"max_restarts\": 0,\n  \"trials\": [") ==
        0);
}

TEST_CASE("bytes that are no UTF-8 do not break the document") {
  ExperimentConfig experiment = slot_experiment(1);
  experiment.environment = {{"ODD", std::string("a\xff"), {}}};
  CHECK(is_valid(json::parse(planned_json(experiment, gpu_inventory({1})))));
}
