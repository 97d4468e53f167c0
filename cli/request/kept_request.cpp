// SPDX-License-Identifier: Apache-2.0
#include "cli/request/kept_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/request/user_file.hpp"
#include "config_schema/fields/secrets.hpp"

namespace train {

namespace {

bool is_redacted(const RerunRequest& kept, const std::string& text) {
  return kept.has_redactions && text.find("(redacted)") != text.npos;
}

// The experiment with its secrets. They are not kept, so they are read from its file if that is
// unchanged.
Result<std::string> whole_experiment(const std::string& task_id, const RerunRequest& kept) {
  if (!is_redacted(kept, kept.experiment_text)) return kept.experiment_text;
  const std::string what = fmt::format("secrets of '{}' are not kept, and ", kept.config);
  auto text = kept.config == "-" ? Result<std::string>(fail(ErrorClass::no_input, "it was no file"))
                                 : read_input(kept.config, "experiment");
  if (!text)
    return cannot_launch(task_id, what + text.error().diagnostics.front().message,
                         "launch it as it was launched before");
  if (without_secrets(*text) != kept.experiment_text)
    return cannot_launch(task_id, what + "the file has changed since",
                         fmt::format("train launch {} launches it as it is now", kept.config));
  return text;
}

// The same for the defaults that the user's file had.
Result<ExperimentDefaults> whole_defaults(const std::string& task_id, const RerunRequest& kept) {
  const ExperimentDefaults& known = kept.overrides.defaults;
  if (!is_redacted(kept, known.text)) return known;
  auto now = read_user_file();
  if (!now) return tl::make_unexpected(now.error());
  if (!*now || without_secrets((*now)->defaults.text) != known.text)
    return cannot_launch(
        task_id,
        fmt::format("secrets of '{}' are not kept, and its defaults have changed since",
                    known.file),
        "launch it as it was launched before");
  return std::move((*now)->defaults);
}

Result<void> check_withheld(const std::string& task_id, const RerunRequest& kept,
                            const std::vector<std::string>& settings) {
  for (const std::string& key : kept.withheld) {
    const bool is_given = std::any_of(settings.begin(), settings.end(), [&](const auto& setting) {
      return setting.starts_with(key + "=");
    });
    if (!is_given)
      return cannot_launch(
          task_id, fmt::format("the value of --set {} was a secret, and is not kept", key),
          fmt::format("give it again: train task rerun {} --set {}=...", task_id, key));
  }
  return {};
}

}  // namespace

tl::unexpected<Error> cannot_launch(const std::string& task_id, const std::string& why,
                                    std::string hint) {
  return fail(ErrorClass::no_input,
              fmt::format("task {} cannot be launched again: {}", task_id, why), std::move(hint));
}

Result<RequestFlags> flags_of_kept(const std::string& task_id, const RerunRequest& kept,
                                   const std::vector<std::string>& settings) {
  if (const auto given = check_withheld(task_id, kept, settings); !given)
    return tl::make_unexpected(given.error());
  auto experiment = whole_experiment(task_id, kept);
  if (!experiment) return tl::make_unexpected(experiment.error());
  auto defaults = whole_defaults(task_id, kept);
  if (!defaults) return tl::make_unexpected(defaults.error());
  RequestFlags request;
  request.config = kept.config;
  request.config_text = std::move(*experiment);
  request.host_source = kept.host_source;
  request.host_list = kept.host_list;
  request.host_file = kept.host_file;
  request.host_text = kept.host_text;
  request.include = kept.include;
  request.exclude = kept.exclude;
  request.transport = kept.transport;
  request.context = kept.context;
  request.slots = kept.overrides.slots;
  request.global_batch = kept.overrides.global_batch;
  request.max_runtime = kept.overrides.max_runtime;
  request.settings = kept.overrides.settings;
  request.defaults = std::move(*defaults);
  request.settings.insert(request.settings.end(), settings.begin(), settings.end());
  request.environment = kept.environment;
  request.command = kept.overrides.command;
  request.fills_hosts = kept.overrides.workers.has_value();
  return request;
}

}  // namespace train
