// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/secrets.hpp"

#include "config_schema/config_check.hpp"
#include "config_schema/experiment/experiment_tree.hpp"
#include "config_schema/yaml/yaml_writer.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

// Ways to write a secret, "hunter2" or with it, and a fault beside it.
const std::vector<std::string> secret_texts = {
    "environment: {registry_auth: {username: me, password: hunter2}}\n",
    "environment: {registry_auth: {password: hunter2, user: me}}\n",
    "environment: {registry_auth: {user: me, password: \"hun\\x74er2 hunter2\"}, nope: 1}\n",
    "environment: {registry_auth: {password: 'it''s hunter2', user: me}}\n",
    "environment:\n  registry_auth:\n    password: hunter2 # a note\n    user: me\n",
    "environment:\n  registry_auth:\n    password:\n      hunter2\n",
    "environment:\n  registry_auth:\n    password: |\n      hunter2\n      more hunter2\n",
    "environment:\n  registry_auth:\n    password: >-\n\n      hunter2\n  nope: 1\n",
    "environment:\n  registry_auth:\n    password: \"first\n      hunter2 last\"\n",
    "environment:\n  registry_auth:\n    password: first\n      hunter2 last\n",
    "environment: {registry_auth: {password: first\n hunter2, user: me}}\n",
    "environment: {registry_auth: {password: !!str hunter2, user: me}}\n",
    "environment: {registry_auth: {password: &a hunter2, auth: *a, user: *a}}\n",
    "x-login: &a {password: hunter2}\nenvironment: {registry_auth: *a}\n",
    "x-password: &a hunter2\nenvironment: {registry_auth: {password: *a}}\n",
    "x-login: {password: hunter2}\nname: y\n",
    "x-logins: [{b: {secret_key: hunter2}}, {auth: {c: hunter2}}]\nnope: 1\n",
    "x-login: &a {password: hunter2}\nenvironment: {registry_auth: {<<: *a, user: me}}\n",
    "environment: {registry_auth: {password: [hunter2], user: me}}\n",
    "environment: {registry_auth: {password: {hunter2: hunter2}, user: me}}\n",
    "environment: {registry_auth: {password: a, password: hunter2}}\n",
    "environment: {registry_auth: {password: hunter2, password: a}}\n",
    "environment: {registry_auth: {password: !!int hunter2}}\n",
    "environment: {registry_auth: {password: hunter2\n",
    "environment: {registry_auth: {password: hunter2, \"x}}\n",
    "environment: {registry_auth: {password: hunter2}}}\n",
    "environment:\n  registry_auth:\n    password: hunter2\n   user: me\n",
    "environment: {registry_auth: {identitytoken: hunter2, x: 1}}\n",
    "checkpoint_storage: {type: s3, bucket: b, access_key: hunter2, secret_key: hunter2, x: 1}\n",
    "checkpoint_storage: {type: azure, container: c, connection_string: hunter2, x: 1}\n",
    "integrations: {pachyderm: {dataset: {token: hunter2, x: 1}}}\n",
};

bool tells(const std::string& text) { return text.find("hunter2") != text.npos; }

// Everything that is said of an experiment.
std::string said_of(const std::string& text, const ExperimentOverrides& overrides = {}) {
  const SourceText source{"experiment.yaml", text};
  const auto findings = check_file(source, FileKind::experiment);
  std::string said = findings_to_json(findings);
  for (const Finding& finding : findings)
    said += render(finding.diagnostic) + "\n" + finding.diagnostic.place.text + "\n";
  const auto config = parse_experiment(source, overrides, ReadFor::checking);
  if (!config) said += render(config.error());
  if (config)
    for (const Diagnostic& warning : config->warnings) said += render(warning) + "\n";
  if (const auto shown = effective_experiment(source, overrides))
    said += yaml_text(**shown, YamlComments::origins);
  return said;
}

}  // namespace

TEST_CASE("a secret is never said, however it is written and whatever is wrong beside it") {
  for (const std::string& text : secret_texts)
    for (const std::string command : {"", "entrypoint: x\n"}) {
      const std::string said = said_of(command + text);
      INFO(command + text);
      INFO(said);
      CHECK_FALSE(tells(said));
    }
}

TEST_CASE("a secret is covered where it stands, and nothing else is") {
  const auto error = parse_experiment(
      {"e.yaml",
       "environment: {registry_auth: {password: \"hunter2\", user: me}, \xc3\xa4: hunter2}\n"},
      {}, ReadFor::checking);
  REQUIRE_FALSE(error);
  const Diagnostic& found = error.error().diagnostics.front();
  CHECK(found.place.text ==
        "environment: {registry_auth: {password: *********, user: me}, \xc3\xa4: hunter2}");
  CHECK(found.place.column == 52);
}

TEST_CASE("the record of a task keeps no secret") {
  for (const std::string& text : secret_texts) {
    if (!parse_experiment({"e", "entrypoint: x\n" + text}, {}, ReadFor::checking)) continue;
    const std::string kept = without_secrets("entrypoint: x\n" + text);
    INFO(kept);
    CHECK_FALSE(tells(kept));
    CHECK(kept.find("(redacted)") != kept.npos);
    CHECK(parse_experiment({"e", kept}, {}, ReadFor::checking));
  }
  const std::string open = "entrypoint: x # password: 3\r\nname: y";
  CHECK(without_secrets(open) == open);
}

TEST_CASE("a secret in a flag is never said") {
  const std::string text = "entrypoint: x\nenvironment: {registry_auth: {password: hunter2}}\n";
  for (const std::string setting :
       {"environment.registry_auth.password=hunter2", "environment.registry_auth.password:hunter2",
        "environment.registry_auth.password={a: hunter2}",
        "environment.registry_auth.password=[hunter2",
        "environment.registry_auth={password: hunter2, user: me}",
        "environment.registry_auth.password.x=hunter2",
        "environment..registry_auth.password=hunter2",
        "environment={registry_auth: {password: \"hunter2\"}, x: 1}",
        "environment.registry_auth.password.x=1"}) {
    ExperimentOverrides overrides;
    overrides.settings = {setting};
    for (const std::string& file : {text, std::string("entrypoint: x\n")}) {
      const auto config = parse_experiment({"e.yaml", file}, overrides, ReadFor::launching);
      std::string said = config ? std::string() : render(config.error());
      if (config)
        for (const Diagnostic& warning : config->warnings) said += render(warning);
      INFO(setting << "\n" << said);
      CHECK_FALSE(tells(said));
    }
  }
}
