// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/rerun_request.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

RerunRequest full_rerun_request() {
  RerunRequest request;
  request.config = "experiment.yaml";
  request.experiment_text = "entrypoint: x\n# \xff\n";
  request.overrides = {3,
                       96,
                       "2h",
                       {"max_restarts=2", "a=\xfe"},
                       {{"A", "1", {}}, {"B", std::nullopt, {}}},
                       {"python3", "", "it's"}};
  request.host_source = HostSource::named;
  request.host_file = "hosts.yaml";
  request.host_text = "hosts: [a]\n";
  request.include = "a:0";
  request.transport = TransportKind::openssh;
  request.context = "";
  request.environment = {{"A=1", "B"}, {"variables"}, {"C=@token"}};
  request.directory = "/home/a b";
  return request;
}

}  // namespace

TEST_CASE("what a task was launched with comes back as it was") {
  RerunRequest request = full_rerun_request();
  request.withheld = {"secret"};
  request.has_redactions = true;
  const auto back = decode_rerun(encode_rerun(request));
  REQUIRE(back);
  CHECK(encode_rerun(*back) == encode_rerun(request));
  CHECK(back->overrides.command == request.overrides.command);
  CHECK(back->overrides.settings == request.overrides.settings);
  CHECK(back->environment.variables == request.environment.variables);
  CHECK(back->environment.files == request.environment.files);
  CHECK(back->environment.secrets == request.environment.secrets);
  CHECK(back->overrides.global_batch == 96U);
  CHECK(back->context == "");
  CHECK_FALSE(back->exclude);
  CHECK(back->transport == TransportKind::openssh);
  CHECK(back->experiment_text == request.experiment_text);
  CHECK(back->host_source == HostSource::named);
  const auto empty = decode_rerun(encode_rerun({}));
  REQUIRE(empty);
  CHECK_FALSE(empty->overrides.slots);
  CHECK_FALSE(empty->transport);
}

TEST_CASE("where the hosts of a launch are from is kept") {
  for (const HostSource source :
       {HostSource::named, HostSource::allocation, HostSource::this_machine}) {
    RerunRequest request = full_rerun_request();
    request.host_source = source;
    const auto back = decode_rerun(encode_rerun(request));
    REQUIRE(back);
    CHECK(back->host_source == source);
  }
  const auto unknown = decode_rerun(encode_rerun({}));
  REQUIRE(unknown);
  CHECK_FALSE(unknown->host_source);
  RerunRequest request = full_rerun_request();
  std::string other = encode_rerun(request);
  other.replace(other.find("\"named\""), 7, "\"dice\"");
  CHECK_FALSE(decode_rerun(other));
}

TEST_CASE("what is no request, or a newer one, is refused") {
  std::string newer = encode_rerun(full_rerun_request());
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[]"), newer}) {
    const auto read = decode_rerun(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().error_class == ErrorClass::no_input);
  }
}

TEST_CASE("secrets are not kept, in the experiment or in settings of it") {
  RerunRequest request;
  request.experiment_text =
      "entrypoint: x\n"
      "environment:\n  registry_auth: {username: ada, password: s3cret}\n";
  request.overrides.settings = {"max_restarts=2", "environment.registry_auth.password=s3cret",
                                "environment.registry_auth={username: ada, password: s3cret}",
                                "name=s3same"};
  redact(request);
  CHECK(request.has_redactions);
  CHECK(request.overrides.settings == std::vector<std::string>{"max_restarts=2", "name=s3same"});
  CHECK(request.withheld == std::vector<std::string>{"environment.registry_auth.password",
                                                     "environment.registry_auth"});
  CHECK(encode_rerun(request).find("s3cret") == std::string::npos);
  RerunRequest plain = full_rerun_request();
  redact(plain);
  CHECK_FALSE(plain.has_redactions);
  CHECK(encode_rerun(plain) == encode_rerun(full_rerun_request()));
}
