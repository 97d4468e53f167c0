// SPDX-License-Identifier: Apache-2.0
#include "launcher/record/task_json.hpp"

#include <nlohmann/json.hpp>

#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

// Keeps the order of fields, which is made for readers.
using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json rank_json(const RankRecord& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"slots", rank.slots},
          {"exit_code", or_null(rank.exit_code)},
          {"signal", or_null(rank.signal)},
          {"stopped", rank.stopped},
          {"oom", rank.oom.empty() ? Json(nullptr) : Json(rank.oom)},
          {"core", rank.core.empty() ? Json(nullptr) : Json(rank.core)},
          {"cpus", rank.cpus.empty() ? Json(nullptr) : Json(rank.cpus)},
          {"cpu_s", rank.cpu_ms ? Json(static_cast<double>(*rank.cpu_ms) / 1'000) : Json(nullptr)},
          {"memory", or_null(rank.memory)},
          {"memory_peak", or_null(rank.memory_peak)},
          {"log", rank.log_file}};
}

// The value of a text that was stored as JSON.
Json or_null_json(const std::string& text) {
  Json value = text.empty() ? Json(nullptr) : Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(nullptr) : value;
}

Json attempt_json(const AttemptRecord& attempt) {
  return {{"number", attempt.number},
          {"started", attempt.started},
          {"ended", or_null(attempt.ended)},
          {"hosts", attempt.hosts},
          {"cause", attempt.cause.empty() ? Json(nullptr) : Json(attempt.cause)},
          {"log_policies", attempt.log_policies},
          {"reports", attempt.reports},
          {"ignored_lines", attempt.ignored_lines},
          {"last_report", or_null_json(attempt.last_report)}};
}

Json event_json(const RecordedEvent& event) {
  return {{"time_ms", or_null(event.at)},
          {"what", to_string(event.what)},
          {"attempt", or_null(event.attempt)},
          {"rank", or_null(event.rank)},
          {"host", event.host.empty() ? Json(nullptr) : Json(event.host)},
          {"text", event.words}};
}

Json summary(const TaskRecord& task) {
  return {{"id", task.id},
          {"name", task.name},
          {"state", shown_state(task)},
          {"slots", task.slots},
          {"hosts", task.hosts},
          {"ranks", task.world_size},
          {"user", task.user},
          {"created_ms", task.created},
          {"started_ms", or_null(task.started)},
          {"ended_ms", or_null(task.ended)},
          {"restarts", task.restarts},
          {"exit_code", or_null(task.exit_code)},
          {"error_class", task.error_class.empty() ? Json(nullptr) : Json(task.error_class)},
          {"cause", task.cause.empty() ? Json(nullptr) : Json(task.cause)}};
}

Json context_json(const ContextRecord& context) {
  if (context.directory.empty()) return nullptr;
  const bool is_known = !context.sha256.empty();
  return {{"directory", context.directory},
          {"sha256", is_known ? Json(context.sha256) : Json(nullptr)},
          {"files", is_known ? Json(context.files) : Json(nullptr)},
          {"bytes", is_known ? Json(context.bytes) : Json(nullptr)}};
}

Json git_json(const GitRecord& git) {
  if (git.commit.empty()) return nullptr;
  return {{"commit", git.commit}, {"dirty", or_null(git.is_dirty)}};
}

std::string text_of(const Json& document) {
  return shown_json(document.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace

std::string task_to_json(const TaskRecord& task, const std::vector<RecordedEvent>& events,
                         const std::string& now, const std::string& search) {
  Json document = summary(task);
  document["now"] = or_null_json(now);
  document["working_directory"] = task.working_directory;
  document["log_directory"] = task.log_directory;
  document["context"] = context_json(task.context);
  document["git"] = git_json(task.git);
  document["unsettled_hosts"] = task.unsettled_hosts;
  document["attempts"] = Json::array();
  for (const AttemptRecord& attempt : task.attempts)
    document["attempts"].push_back(attempt_json(attempt));
  document["events"] = Json::array();
  for (const RecordedEvent& event : events) document["events"].push_back(event_json(event));
  document["rank_results"] = Json::array();
  for (const RankRecord& rank : task.ranks) document["rank_results"].push_back(rank_json(rank));
  const Json of_search = or_null_json(search);
  document["search"] = of_search.is_object() ? of_search["search"] : Json(nullptr);
  document["trials"] = of_search.is_object() ? of_search["trials"] : Json::array();
  document["config"] = task.config_text;
  document["plan"] = or_null_json(task.plan_json);
  return text_of(document);
}

std::string event_to_json(const TaskRecord& task, const RecordedEvent& event,
                          std::optional<int> trial) {
  Json line = {{"task", task.id}, {"name", task.name}, {"trial", or_null(trial)}};
  line.update(event_json(event));
  const bool is_end = event.what == RecordedEvent::What::task_over;
  line["state"] = is_end ? Json(to_string(task.state)) : Json(nullptr);
  line["exit_code"] = is_end ? or_null(task.exit_code) : Json(nullptr);
  line["cause"] = is_end && !task.cause.empty() ? Json(task.cause) : Json(nullptr);
  return shown_json(line.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string tasks_to_json(const std::vector<TaskRecord>& tasks, const std::string& held,
                          const std::string& hosts) {
  Json list = Json::array();
  for (const TaskRecord& task : tasks) {
    list.push_back(summary(task));
    list.back()["launcher"] = nullptr;
  }
  for (Json& task : Json::parse(held)) list.push_back(std::move(task));
  return text_of({{"tasks", std::move(list)}, {"hosts", Json::parse(hosts)}});
}

}  // namespace train
