// SPDX-License-Identifier: Apache-2.0
// The published schemas and the readers say the same of every accepted file and of every golden
// case. A case whose fault no schema can see (a relation between values) says so in a file
// `beyond_schema`.
#include "config_schema/fields/json_schema.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "config_schema/experiment/experiment_tree.hpp"
#include "config_schema/yaml/yaml_document.hpp"
#include "config_schema/yaml/yaml_writer.hpp"
#include "tests/catch.hpp"
#include "tests/config_schema/case_files.hpp"

using namespace train;
using namespace train::testing;

namespace {

using Json = nlohmann::json;

class Schema {
 public:
  explicit Schema(const std::string& text) {
    const Json document = Json::parse(text);
    const valijson::adapters::NlohmannJsonAdapter adapter(document);
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, schema_);
  }

  // What is wrong with a value, one a line; empty: nothing.
  std::string errors(const YamlNode& node) const {
    const Json document = Json::parse(json_text(node));
    const valijson::adapters::NlohmannJsonAdapter adapter(document);
    valijson::ValidationResults results;
    valijson::Validator validator;
    if (validator.validate(schema_, adapter, &results)) return {};
    std::string text;
    for (const auto& error : results) {
      for (const std::string& step : error.context) text += step;
      text += ": " + error.description + "\n";
    }
    return text;
  }

 private:
  valijson::Schema schema_;
};

const Schema& experiment_schema() {
  static const Schema schema(experiment_json_schema());
  return schema;
}

const Schema& hosts_schema() {
  static const Schema schema(hosts_json_schema());
  return schema;
}

// The tree that the schema is asked about; nullptr: the text has none, or is no mapping.
YamlNodePtr tree_of(const Case& one) {
  if (one.hosts) {
    const auto root = read_yaml({"hosts", *one.hosts}, ErrorClass::hosts);
    return root && (*root)->kind == YamlKind::mapping ? *root : nullptr;
  }
  if (!one.experiment) return nullptr;
  Diagnostics faults;
  const auto root =
      read_experiment_tree({"experiment.yaml", *one.experiment}, one.overrides, faults);
  if (faults.has_errors()) return nullptr;
  return root && (*root)->kind == YamlKind::mapping ? *root : nullptr;
}

bool is_read(const Case& one) {
  if (one.hosts) return parse_hosts({"hosts", *one.hosts}).has_value();
  return parse_experiment({"experiment.yaml", *one.experiment}, one.overrides, ReadFor::checking)
      .has_value();
}

}  // namespace

TEST_CASE("what the reader accepts, the schema accepts") {
  int count = 0;
  for (const auto& file : sorted_entries(TRAIN_ACCEPTED)) {
    INFO(file.filename().string());
    Diagnostics faults;
    const auto root = read_experiment_tree({"x.yaml", slurp(file)}, {}, faults);
    REQUIRE(root);
    CHECK(experiment_schema().errors(**root) == "");
    ++count;
  }
  CHECK(count >= 40);
}

TEST_CASE("the examples follow the schemas") {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TRAIN_ROOT "/examples")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path().string());
    const auto root = read_yaml({name, slurp(entry.path())}, ErrorClass::config);
    REQUIRE(root);
    const Schema& schema = name.starts_with("hosts") ? hosts_schema() : experiment_schema();
    CHECK(schema.errors(**root) == "");
    ++count;
  }
  CHECK(count >= 2);
}

TEST_CASE("the schema and the reader refuse the same cases") {
  int refused = 0;
  for (const auto& folder : case_folders()) {
    const Case one = read_case(folder);
    const YamlNodePtr tree = tree_of(one);
    if (!tree) continue;
    INFO(folder.filename().string());
    const std::string errors = (one.hosts ? hosts_schema() : experiment_schema()).errors(*tree);
    INFO(errors);
    if (is_read(one)) {
      CHECK(errors == "");
    } else if (std::filesystem::exists(folder / "beyond_schema")) {
      CHECK(errors == "");
    } else {
      CHECK(errors != "");
      ++refused;
    }
  }
  CHECK(refused >= 40);
}

TEST_CASE("every published schema is JSON with a title") {
  for (const std::string& name : schema_names()) {
    INFO(name);
    const auto text = published_schema(name);
    REQUIRE(text);
    const Json schema = Json::parse(*text);
    CHECK(schema.at("$schema") == "http://json-schema.org/draft-07/schema#");
    CHECK(schema.contains("title"));
    CHECK(text->back() == '\n');
  }
  CHECK_FALSE(published_schema("nothing"));
}
