// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/field_table.hpp"

#include <set>

#include "config_schema/fields/field_check.hpp"
#include "config_schema/yaml/yaml_document.hpp"
#include "tests/catch.hpp"

using namespace train;

TEST_CASE("the tables of fields are sound") {
  for (const FieldTable* table :
       {&experiment_fields(), &hyperparameter_fields(), &host_fields(), &inventory_fields()}) {
    std::set<std::string_view> paths;
    for (const Field& field : table->fields()) {
      INFO(field.path);
      CHECK(paths.insert(field.path).second);
      CHECK_FALSE(field.meaning.empty());
      CHECK(field.minimum <= field.maximum);
      if (!field.choices.empty()) CHECK(has(field.types, FieldType::string));
      if (!field.twin.empty()) CHECK(table->find(field.twin) != nullptr);
      const std::string_view parent = parent_of(field.path);
      if (!parent.empty()) CHECK(table->find(parent) != nullptr);
      if (!field.selector.empty())
        CHECK(table->find(std::string(field.path) + "." + std::string(field.selector)) != nullptr);
      const bool is_of_kinds =
          !field.kinds.empty() || (!field.needed_by.empty() && field.needed_by != "*");
      if (is_of_kinds) CHECK_FALSE(table->find(parent)->selector.empty());
    }
  }
}

TEST_CASE("a default of the table is a value that its field takes") {
  for (const FieldTable* table : {&experiment_fields(), &host_fields()}) {
    for (const Field& field : table->fields()) {
      if (field.default_text.empty()) continue;
      INFO(field.path);
      const auto value =
          read_yaml({"default", std::string(field.default_text)}, ErrorClass::config);
      REQUIRE(value);
      CHECK_FALSE(find_fault(**value, field, "x"));
    }
  }
}

TEST_CASE("paths have parents and leaves") {
  CHECK(parent_of("a.b.c") == "a.b");
  CHECK(parent_of("a.b[]") == "a.b");
  CHECK(parent_of("a") == "");
  CHECK(leaf_of("a.b.c") == "c");
  CHECK(leaf_of("a.b[]") == "[]");
  CHECK(leaf_of("a") == "a");
}

TEST_CASE("words of other programs are translated for the file that they stand in") {
  struct Row {
    const FieldTable& table;
    std::string_view word;
    std::string_view path;
  };
  const Row row = GENERATE(values<Row>({
      {experiment_fields(), "gpus", "resources.slots_per_trial"},
      {experiment_fields(), "num-gpus", "resources.slots_per_trial"},
      {experiment_fields(), "Batch_Size", "global_batch_size"},
      {experiment_fields(), "command", "entrypoint"},
      {experiment_fields(), "hostname", ""},
      {host_fields(), "gpus", "resources.GPU"},
      {host_fields(), "hostname", "name"},
      {host_fields(), "dtrain_network_interface", "interface"},
      {host_fields(), "command", ""},
      {host_fields(), "frobnicate", ""},
      {hyperparameter_fields(), "gpus", ""},
  }));
  CAPTURE(row.word);
  CHECK(field_for_foreign_word(row.table, row.word) == row.path);
  if (!row.path.empty()) CHECK(row.table.find(row.path) != nullptr);
}
