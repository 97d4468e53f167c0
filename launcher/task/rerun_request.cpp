// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/rerun_request.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "config_schema/fields/secrets.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/frames/json_fields.hpp"
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

std::optional<std::string> bytes_if(const json& object, const char* name) {
  const json& value = field(object, name);
  return value.is_null() ? std::nullopt : std::optional(to_bytes(value));
}

RerunRequest rerun_of(const json& document) {
  if (int_field(document, "version") > version) throw Malformed{"a newer train has written it"};
  RerunRequest request;
  request.config = to_bytes(field(document, "config"));
  request.experiment_text = to_bytes(field(document, "experiment"));
  request.has_redactions = bool_field(document, "has_redactions");
  request.overrides = overrides_of(document);
  request.overrides.max_runtime = bytes_if(document, "max_runtime");
  request.withheld = texts_of(document, "withheld");
  if (document.contains("host_source"))
    request.host_source = enum_field(
        document, "host_source",
        {HostSource::named, HostSource::allocation, HostSource::this_machine}, "unknown hosts");
  request.host_list = to_bytes(field(document, "host_list"));
  request.host_file = to_bytes(field(document, "host_file"));
  request.host_text = to_bytes(field(document, "host_text"));
  request.include = bytes_if(document, "include");
  request.exclude = bytes_if(document, "exclude");
  if (!field(document, "transport").is_null()) {
    request.transport = transport_of(text_field(document, "transport"));
    if (!request.transport) throw Malformed{"unknown transport"};
  }
  request.context = bytes_if(document, "context");
  request.directory = to_bytes(field(document, "directory"));
  return request;
}

}  // namespace

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
  std::string redacted = without_secrets(request.experiment_text);
  request.has_redactions = redacted != request.experiment_text;
  request.experiment_text = std::move(redacted);
  std::vector<std::string> kept;
  for (std::string& setting : request.overrides.settings)
    if (has_secret(setting))
      request.withheld.push_back(setting.substr(0, setting.find('=')));
    else
      kept.push_back(std::move(setting));
  request.overrides.settings = std::move(kept);
}

std::string encode_rerun(const RerunRequest& request) {
  json document{
      {"version", version},
      {"config", from_bytes(request.config)},
      {"experiment", from_bytes(request.experiment_text)},
      {"has_redactions", request.has_redactions},
      {"withheld", json_of(request.withheld)},
      {"host_list", from_bytes(request.host_list)},
      {"host_file", from_bytes(request.host_file)},
      {"host_text", from_bytes(request.host_text)},
      {"include", or_null(request.include)},
      {"exclude", or_null(request.exclude)},
      {"transport", request.transport ? json(to_string(*request.transport)) : json(nullptr)},
      {"context", or_null(request.context)},
      {"directory", from_bytes(request.directory)}};
  if (request.host_source) document["host_source"] = to_string(*request.host_source);
  add_overrides(document, request.overrides);
  return document.dump() + "\n";
}

Result<RerunRequest> decode_rerun(std::string_view text) {
  RerunRequest request;
  const auto read = read_request(text, "what the task was launched with cannot be read: ",
                                 [&](const json& document) { request = rerun_of(document); });
  if (!read) return tl::make_unexpected(read.error());
  return request;
}

}  // namespace train
