// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/foreign_words.hpp"

#include "tests/catch.hpp"

using namespace train;

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
