// SPDX-License-Identifier: Apache-2.0
// What is published of the tables of fields is what they say: the JSON Schemas beside the sources,
// and the tables of the manual, which stand there between `.\" begin NAME` and `.\" end NAME`.
// TRAIN_REGENERATE=1 writes both anew; look at the difference before you commit it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/fields/json_schema.hpp"
#include "tests/catch.hpp"
#include "tests/config_schema/case_files.hpp"
#include "tests/config_schema/fields/field_manual.hpp"

using namespace train;

namespace {

namespace fs = std::filesystem;

constexpr const char* regenerate_command =
    "TRAIN_REGENERATE=1 build/release/tests/config_schema/test_config_schema \"[published]\"";

// The file must hold `text`, which TRAIN_REGENERATE=1 makes so.
void check_published(const char* name, const std::string& text) {
  const fs::path file = fs::path(TRAIN_ROOT) / name;
  INFO(name << " is not what the tables say: " << regenerate_command);
  if (std::getenv("TRAIN_REGENERATE") != nullptr) std::ofstream(file, std::ios::binary) << text;
  CHECK(slurp(file) == text);
}

// A manual page with other lines between its two marks.
std::string with_table(const std::string& page, const std::string& name, const std::string& table) {
  const std::string begin = ".\\\" begin " + name + "\n";
  const std::string end = ".\\\" end " + name + "\n";
  const std::size_t first = page.find(begin);
  const std::size_t last = page.find(end);
  REQUIRE(first != page.npos);
  REQUIRE(last != page.npos);
  REQUIRE(first < last);
  return page.substr(0, first + begin.size()) + table + page.substr(last);
}

// The keys that the items of the tables are about.
std::multiset<std::string> heads_of(const std::string& tables) {
  std::multiset<std::string> heads;
  std::istringstream lines(tables);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(".It ")) continue;
    std::istringstream words(line);
    for (std::string before, word; words >> word; before = word)
      if (before == "Ic") heads.insert(word);
  }
  return heads;
}

}  // namespace

TEST_CASE("the published schemas are those of the tables", "[published]") {
  check_published("config_schema/fields/experiment.schema.json", experiment_json_schema());
  check_published("config_schema/fields/hosts.schema.json", hosts_json_schema());
}

TEST_CASE("the tables of train-config(5) are those of the fields", "[published]") {
  const char* name = "man/train-config.5";
  std::string page = slurp(fs::path(TRAIN_ROOT) / name);
  page = with_table(page, "keys", manual_of_experiment_keys());
  page = with_table(page, "kinds", manual_of_hyperparameter_kinds());
  page = with_table(page, "idle keys", manual_of_idle_keys());
  page = with_table(page, "refused keys", manual_of_refused_keys());
  check_published(name, page);
}

TEST_CASE("the tables of train-hosts(5) are those of the fields", "[published]") {
  const char* name = "man/train-hosts.5";
  check_published(name,
                  with_table(slurp(fs::path(TRAIN_ROOT) / name), "keys", manual_of_host_keys()));
}

TEST_CASE("every key of an experiment stands in the manual", "[published]") {
  const auto heads =
      heads_of(manual_of_experiment_keys() + manual_of_idle_keys() + manual_of_refused_keys());
  for (const Field& field : experiment_fields().fields()) {
    const Field* outer = experiment_fields().find(parent_of(field.path));
    const bool is_told_elsewhere = outer != nullptr && !outer->twin.empty();
    const bool is_wild = field.path.find('*') != field.path.npos;
    if (is_told_elsewhere || is_wild) continue;
    INFO(field.path);
    const std::size_t gone_words = choice_words(field.gone_choices).size();
    CHECK(heads.count(std::string(field.path)) == 1 + gone_words);
  }
}
