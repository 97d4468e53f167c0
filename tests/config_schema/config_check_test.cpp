// SPDX-License-Identifier: Apache-2.0
#include "config_schema/config_check.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/config_schema/case_files.hpp"

using namespace train;
using namespace train::testing;

TEST_CASE("accepted files have no errors") {
  for (const auto& file : sorted_entries(TRAIN_ACCEPTED)) {
    INFO(file.filename().string());
    const auto findings = check_file({"x.yaml", slurp(file)}, FileKind::experiment);
    CHECK_FALSE(has_errors(findings));
  }
}

TEST_CASE("an inventory is told from an experiment") {
  CHECK(kind_of({"h", "hosts: [n1, n2]\n"}) == FileKind::hosts);
  CHECK(kind_of({"h", "entrypoint: x\n"}) == FileKind::experiment);
  CHECK(kind_of({"h", "n1 slots=8\n"}) == FileKind::experiment);
  CHECK(kind_of({"h", "[broken"}) == FileKind::experiment);
  CHECK(check_file({"h", "hosts: [n1, n2]\n"}, FileKind::hosts).empty());
  CHECK(has_errors(check_file({"h", "hosts: [n1, n1]\n"}, FileKind::hosts)));
  CHECK(has_errors(check_file({"h", "hosts: [n1]\n"}, FileKind::experiment)));
  CHECK(check_file({"h", "n1 slots=8\n"}, FileKind::hosts).empty());
}

TEST_CASE("findings say how grave they are") {
  const auto findings = check_file({"x.yaml", "entrypoint: a\ndebug: true\nframework: horovod\n"},
                                   FileKind::experiment);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].severity == Severity::obstacle);
  CHECK(findings[0].diagnostic.key == "framework");
  CHECK(findings[1].severity == Severity::warning);
  CHECK(findings[1].diagnostic.key == "debug");
}

TEST_CASE("findings are data") {
  const auto findings =
      check_file({"x.yaml", "resources: {slot_per_trial: 1}\n"}, FileKind::experiment);
  const auto document = nlohmann::json::parse(findings_to_json(findings));
  const auto& found = document.at("diagnostics").at(0);
  CHECK(found.at("severity") == "error");
  CHECK(found.at("file") == "x.yaml");
  CHECK(found.at("line") == 1);
  CHECK(found.at("column") == 13);
  CHECK(found.at("key") == "resources.slot_per_trial");
  CHECK(found.at("message") == "unknown key 'slot_per_trial' in 'resources'");
  CHECK(found.at("hint") == "did you mean 'slots_per_trial'?");
  CHECK(nlohmann::json::parse(findings_to_json({})).at("diagnostics").empty());
}
