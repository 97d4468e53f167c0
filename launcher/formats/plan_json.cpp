// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include <nlohmann/json.hpp>

#include "config_schema/text/terminal_text.hpp"
#include "launcher/rendezvous/rank_environment.hpp"

namespace train {
namespace {

using Json = nlohmann::ordered_json;

// Names and values are bytes from users; invalid UTF-8 is shown as U+FFFD.
std::string written(const Json& document) {
  return shown_json(document.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(Quantity quantity) {
  if (quantity.is_whole()) return quantity.whole();
  return static_cast<double>(quantity.parts()) / static_cast<double>(Quantity::scale);
}

std::string_view to_string(TrialCounts::Limit limit) {
  switch (limit) {
    case TrialCounts::Limit::hosts:
      return "hosts";
    case TrialCounts::Limit::max_concurrent_trials:
      return "max_concurrent_trials";
    case TrialCounts::Limit::max_slots:
      return "max_slots";
    case TrialCounts::Limit::trials:
      break;
  }
  return "trials";
}

Json json_of(const TrialCounts& trials) {
  return {{"trials", or_null(trials.trials)},
          {"at_once", trials.at_once},
          {"limit", std::string(to_string(trials.limit))},
          {"fit", trials.fit},
          {"fit_is_at_least", trials.is_at_least}};
}

Json json_of(const EnvironmentEntry& entry) {
  if (entry.secret) return {{"redacted", true}};
  if (entry.at_launch != AtLaunch::no)
    return {{"at_launch", std::string(to_string(entry.at_launch))}};
  return entry.text;
}

Json json_of(const std::vector<EnvironmentEntry>& environment) {
  Json object = Json::object();
  for (const EnvironmentEntry& entry : environment) object[entry.name] = json_of(entry);
  return object;
}

Json json_of(const PlannedHost& host) {
  Json ranks = Json::array();
  for (int i = 0; i < host.rank_count; ++i) ranks.push_back(host.first_rank + i);
  return {{"host", host.host.name}, {"slots", host.slots}, {"ranks", std::move(ranks)}};
}

Json json_of(const PlannedRank& rank, const Host& host,
             const std::vector<EnvironmentEntry>& environment) {
  return {{"rank", rank.rank},
          {"local_rank", rank.local_rank},
          {"node_rank", rank.host},
          {"host", host.name},
          {"devices", devices_of(host, rank.slots)},
          {"batch_size", or_null(rank.batch_size)},
          {"batch_offset", or_null(rank.batch_offset)},
          {"env", json_of(environment)}};
}

Json json_of_slices(const Trial& trial) {
  Json slices = Json::array();
  for (const PlannedSlice& slice : trial.slices) {
    Json hosts = Json::array();
    for (const int host : slice.hosts) hosts.push_back(trial.hosts[host].host.name);
    slices.push_back({{"slice", slice.name}, {"hosts", std::move(hosts)}});
  }
  return slices;
}

// A value inside a document, indented for this depth.
std::string at_depth(int depth, const Json& value) {
  const std::string shown = shown_json(value.dump(2, ' ', false, Json::error_handler_t::replace));
  std::string text;
  text.reserve(2 * shown.size());
  std::size_t begin = 0;
  for (std::size_t end; (end = shown.find('\n', begin)) != shown.npos; begin = end + 1)
    text.append(shown, begin, end + 1 - begin).append(2 * static_cast<std::size_t>(depth), ' ');
  return text.append(shown, begin);
}

// Writes the ranks one by one, so that the environments of 80,000 ranks are never in one tree.
void append_trial(const Plan& plan, std::string& text) {
  const Trial& trial = plan.trial;
  Json hosts = Json::array();
  for (const PlannedHost& host : trial.hosts) hosts.push_back(json_of(host));
  Json head = {{"trial", trial.trial},
               {"slots", json_of(trial.slots)},
               {"world_size", trial.world_size},
               {"global_batch_size", or_null(trial.global_batch_size)},
               {"batch_sum", or_null(trial.batch_sum)},
               {"effective_batch_size", or_null(trial.effective_batch_size)},
               {"per_slot_batch_size", or_null(trial.per_slot_batch_size)},
               {"hosts", std::move(hosts)}};
  if (!trial.trainer_slots.empty())
    head["trainer"] = {{"host", trial.hosts.front().host.name}, {"slots", trial.trainer_slots}};
  text += at_depth(2, head);
  text.resize(text.rfind('\n'));  // the closing lines follow after the ranks
  text += ",\n      \"ranks\": [";
  for (const PlannedRank& rank : trial.ranks) {
    text += rank.rank == 0 ? "\n        " : ",\n        ";
    text +=
        at_depth(4, json_of(rank, trial.hosts[rank.host].host, environment_of(plan, rank.rank)));
  }
  text += "\n      ]";
  if (!trial.slices.empty()) text += ",\n      \"slices\": " + at_depth(3, json_of_slices(trial));
  text += "\n    }";
}

}  // namespace

std::string plan_to_json(const Plan& plan, const std::optional<PlannedContext>& context) {
  std::string text = "{\n  \"experiment\": " + at_depth(1, plan.experiment.name);
  text += fmt::format(",\n  \"max_restarts\": {}", plan.experiment.max_restarts);
  if (const auto& limit = plan.experiment.max_runtime)
    text += fmt::format(",\n  \"max_runtime_ms\": {}", limit->count());
  if (const CpuBinding binding = plan.experiment.cpu_binding; binding != CpuBinding::none)
    text += ",\n  \"cpu_binding\": " + at_depth(1, std::string(to_string(binding)));
  text += ",\n  \"trials\": [\n    ";
  append_trial(plan, text);
  text += "\n  ]";
  if (plan.trials) text += ",\n  \"concurrency\": " + at_depth(1, json_of(*plan.trials));
  if (plan.search) text += ",\n  \"search\": " + at_depth(1, search_json(plan));
  if (context)
    text += ",\n  \"context\": " + at_depth(1, {{"directory", context->directory},
                                                {"sha256", context->sha256},
                                                {"files", context->files},
                                                {"bytes", context->bytes}});
  Json warnings = Json::array();
  for (const std::string& warning : warning_lines(plan, context)) warnings.push_back(warning);
  text += ",\n  \"warnings\": " + at_depth(1, warnings);
  text += ",\n  \"advice\": " + at_depth(1, plan.advice);
  text += "\n}\n";
  return text;
}

std::string refusal_to_json(const Refusal& refusal) {
  Json refused = Json::object();
  refused["kind"] = refusal.kind == Refusal::Kind::never ? "never" : "busy";
  refused["reasons"] = refusal.reasons;
  refused["nearest"] = refusal.nearest;
  refused["changes"] = Json::array();
  for (const Change& change : refusal.changes) refused["changes"].push_back(change.options);
  if (!refusal.holders.empty()) {
    refused["holders"] = Json::array();
    for (const Holder& holder : refusal.holders) {
      Json one = {
          {"holder", holder.holder}, {"hosts", holder.hosts}, {"slots", json_of(holder.slots)}};
      if (holder.held_ms > 0) one["held_seconds"] = static_cast<double>(holder.held_ms) / 1'000;
      refused["holders"].push_back(std::move(one));
    }
  }
  Json document = Json::object();
  document["refused"] = std::move(refused);
  return written(document);
}

}  // namespace train
