// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/rerun_request.hpp"

#include <fmt/format.h>

#include <utility>

#include "config_schema/fields/secrets.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/task/request_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr int version = 1;

// Whether "a.b=value" sets a secret key, or contains one in its value.
bool has_secret(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const std::string key = setting.substr(0, equals);
  if (is_secret_path(key)) return true;
  if (equals == setting.npos) return false;
  // The same setting as the text of an experiment.
  std::string text;
  std::string indentation;
  for (const std::string_view part : split(key, '.')) {
    text += fmt::format("{}{}{}:", text.empty() ? "" : "\n", indentation, part);
    indentation += "  ";
  }
  text += " " + setting.substr(equals + 1) + "\n";
  return without_secrets(text) != text;
}

}  // namespace

void fields(auto& f, Described<RerunRequest> auto& request) {
  using enum TransportKind;
  f.text("config", request.config);
  f.text("experiment", request.experiment_text);
  f.flag("has_redactions", request.has_redactions);
  fields(f, request.overrides);
  f.texts("withheld", request.withheld);
  f.texts("env", request.environment.variables);
  f.texts("env_files", request.environment.files);
  f.texts("secrets", request.environment.secrets);
  f.choice("host_source", request.host_source,
           {HostSource::named, HostSource::allocation, HostSource::this_machine}, "unknown hosts");
  f.text("host_list", request.host_list);
  f.text("host_file", request.host_file);
  f.text("host_text", request.host_text);
  f.text("include", request.include);
  f.text("exclude", request.exclude);
  f.choice("transport", request.transport, {automatic, local, ssh, openssh}, "unknown transport");
  f.text("context", request.context);
  f.text("directory", request.directory);
}

std::string_view to_string(HostSource source) {
  switch (source) {
    case HostSource::named:
      return "named";
    case HostSource::allocation:
      return "allocation";
    case HostSource::this_machine:
      return "this machine";
  }
  return "";
}

void redact(RerunRequest& request) {
  for (std::string* text : {&request.experiment_text, &request.overrides.defaults.text}) {
    std::string redacted = without_secrets(*text);
    request.has_redactions |= redacted != *text;
    *text = std::move(redacted);
  }
  std::vector<std::string> kept;
  for (std::string& setting : request.overrides.settings)
    if (has_secret(setting))
      request.withheld.push_back(setting.substr(0, setting.find('=')));
    else
      kept.push_back(std::move(setting));
  request.overrides.settings = std::move(kept);
}

std::string encode_rerun(const RerunRequest& request) {
  json document = json_of_fields(request);
  document["version"] = version;
  return document.dump() + "\n";
}

Result<RerunRequest> decode_rerun(std::string_view text) {
  RerunRequest request;
  const auto read = read_request(
      text, "what the task was launched with cannot be read: ", [&](const json& document) {
        if (int_field(document, "version") > version)
          throw Malformed{"a newer train has written it"};
        request = struct_of_json<RerunRequest>(document);
      });
  if (!read) return tl::make_unexpected(read.error());
  return request;
}

}  // namespace train
