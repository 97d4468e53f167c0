// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr int deepest_nesting = 8;
constexpr int most_attempts_of_task = 1'000'000;
constexpr std::size_t most_slots_of_host = 100'000;
constexpr std::int64_t any_past = INT64_MIN;
constexpr std::int64_t latest_wall = 1'000'000'000'000'000;  // in milliseconds, or before 1970

template <class Enum>
struct Name {
  Enum value;
  const char* name;
};

constexpr Name<Sequel> sequels[] = {{Sequel::restart, "restart"},
                                    {Sequel::succeeded, "succeeded"},
                                    {Sequel::stopped, "stopped"},
                                    {Sequel::never_started, "never_started"},
                                    {Sequel::invalid_hyperparameters, "invalid_hyperparameters"},
                                    {Sequel::hopeless, "hopeless"},
                                    {Sequel::unrecorded, "unrecorded"},
                                    {Sequel::processes_left, "processes_left"},
                                    {Sequel::no_restarts_left, "no_restarts_left"}};

constexpr ErrorClass error_classes[] = {
    ErrorClass::usage,   ErrorClass::no_input, ErrorClass::never,       ErrorClass::bug,
    ErrorClass::missing, ErrorClass::busy,     ErrorClass::host,        ErrorClass::config,
    ErrorClass::hosts,   ErrorClass::worker,   ErrorClass::interrupted, ErrorClass::timeout};

json json_of(const AttemptEnd& end) {
  return {{"succeeded", end.succeeded},           {"any_started", end.any_started},
          {"left_processes", end.left_processes}, {"hopeless", end.is_hopeless},
          {"unrecorded", end.is_unrecorded},      {"exit_code", end.exit_code}};
}
AttemptEnd attempt_end_of(const json& value) {
  AttemptEnd end;
  end.succeeded = bool_field(value, "succeeded");
  end.any_started = bool_field(value, "any_started");
  end.left_processes = bool_field(value, "left_processes");
  end.is_hopeless = bool_field(value, "hopeless");
  end.is_unrecorded = bool_field(value, "unrecorded");
  end.exit_code = int_field(value, "exit_code", 0, 255);
  return end;
}

json json_of(const Failure& failure) {
  const Diagnostic& first = failure.error.diagnostics.front();
  json value{{"at", failure.at.at.count()},
             {"bound", failure.at.bound.count()},
             {"class", std::string(to_string(failure.error.error_class))},
             {"message", from_bytes(cut_to_json(first.message, longest_words))},
             {"hint", from_bytes(cut_to_json(first.hint, longest_words))},
             {"host", failure.host},
             {"exit_code", failure.exit_code}};
  if (failure.rank) value["rank"] = *failure.rank;
  return value;
}
Failure failure_of(const json& value) {
  const ErrorClass error_class =
      enum_field(value, "class", error_classes, "a failure of an unknown class");
  Failure failure;
  failure.at = {Instant(number_field(value, "at", any_past)),
                nanoseconds(number_field(value, "bound"))};
  failure.error = make_error(error_class, text_field(value, "message", longest_words),
                             text_field(value, "hint", longest_words));
  failure.rank = optional_int_field(value, "rank", 0, INT32_MAX);
  failure.host = int_field(value, "host", -1);
  failure.exit_code = int_field(value, "exit_code", 0, 255);
  return failure;
}

json json_of(const TrialPlace& place) {
  json hosts = json::array();
  for (const HostPlace& host : place.hosts) {
    json ranks = json::array();
    for (const std::vector<int>& slots : host.slots) ranks.push_back({{"slots", slots}});
    hosts.push_back(
        {{"name", from_bytes(host.host)}, {"workers", host.workers}, {"ranks", std::move(ranks)}});
  }
  json value{{"hosts", std::move(hosts)}};
  if (!place.trainer_slots.empty()) value["trainer_slots"] = place.trainer_slots;
  return value;
}
TrialPlace place_of(const json& value) {
  const auto slots = [](const json& object, const char* name) {
    return int_list_field(object, name, 0, INT32_MAX, most_slots_of_host);
  };
  TrialPlace place;
  for (const json& each : field(value, "hosts")) {
    HostPlace& host = place.hosts.emplace_back();
    host.host = to_bytes(text_field(each, "name", longest_words));
    host.workers = int_field(each, "workers", 1);
    for (const json& rank : field(each, "ranks")) host.slots.push_back(slots(rank, "slots"));
  }
  if (place.hosts.empty()) throw Malformed{"a place without hosts"};
  if (value.contains("trainer_slots")) place.trainer_slots = slots(value, "trainer_slots");
  return place;
}

// One pair of functions per record: writes its JSON, and reads it back.

json body(const journal_record::Supervised& r) {
  return {{"type", "supervised"}, {"epoch", r.epoch}};
}
JournalRecord read_supervised(const json& value) {
  return journal_record::Supervised{static_cast<std::uint64_t>(number_field(value, "epoch", 1))};
}

json body(const journal_record::AttemptBegun& r) {
  json value{{"type", "attempt_begun"}, {"attempt", r.attempt}};
  if (r.place) value["place"] = json_of(*r.place);
  return value;
}
JournalRecord read_attempt_begun(const json& value) {
  journal_record::AttemptBegun record{int_field(value, "attempt", 0, most_attempts_of_task)};
  if (value.contains("place")) record.place = place_of(value["place"]);
  return record;
}

json body(const journal_record::RanksStarted& r) {
  json value{{"type", "ranks_started"}, {"go", encode_message(r.go)}};
  if (r.booted) value["booted_ms"] = r.booted->count();
  return value;
}
JournalRecord read_ranks_started(const json& value) {
  const auto message = decode_message(text_field(value, "go", longest_journal_entry));
  if (!message || !std::holds_alternative<message::Go>(*message))
    throw Malformed{"ranks that were started with something else than 'go'"};
  journal_record::RanksStarted record{std::get<message::Go>(*message)};
  if (value.contains("booted_ms"))
    record.booted = milliseconds(number_field(value, "booted_ms", -latest_wall, latest_wall));
  return record;
}

json body(const journal_record::AttemptFailing& r) {
  json value{{"type", "attempt_failing"}};
  if (r.first) value["first"] = json_of(*r.first);
  return value;
}
JournalRecord read_attempt_failing(const json& value) {
  journal_record::AttemptFailing record;
  if (value.contains("first")) record.first = failure_of(value["first"]);
  return record;
}

json body(const journal_record::AttemptHopeless&) { return {{"type", "attempt_hopeless"}}; }
JournalRecord read_attempt_hopeless(const json&) { return journal_record::AttemptHopeless{}; }

json body(const journal_record::AttemptOver& r) {
  return {{"type", "attempt_over"}, {"end", json_of(r.end)}};
}
JournalRecord read_attempt_over(const json& value) {
  return journal_record::AttemptOver{attempt_end_of(field(value, "end"))};
}

json body(const journal_record::StopRequested& r) {
  return {{"type", "stop_requested"}, {"signal", r.signal}};
}
JournalRecord read_stop_requested(const json& value) {
  return journal_record::StopRequested{int_field(value, "signal", 0, 127)};
}

template <class Over>
json body_of_end(const Over& r, const char* type) {
  const auto* const why = std::find_if(std::begin(sequels), std::end(sequels),
                                       [&](const auto& each) { return each.value == r.why; });
  json value{{"type", type}, {"why", why->name}};
  if (r.end) value["end"] = json_of(*r.end);
  if (r.signal) value["signal"] = *r.signal;
  return value;
}
template <class Over>
JournalRecord read_end(const json& value) {
  const std::string name = text_field(value, "why", longest_words);
  const auto* const why = std::find_if(std::begin(sequels), std::end(sequels),
                                       [&](const auto& each) { return each.name == name; });
  if (why == std::end(sequels)) throw Malformed{"an end for an unknown reason"};
  Over record;
  record.why = why->value;
  if (value.contains("end")) record.end = attempt_end_of(value["end"]);
  record.signal = optional_int_field(value, "signal", trial_stop, 127);
  return record;
}

json body(const journal_record::TrialOver& r) { return body_of_end(r, "trial_over"); }
json body(const journal_record::TaskOver& r) { return body_of_end(r, "task_over"); }

json body(const journal_record::SearchDecided& r) {
  json list = json::array();
  for (const SearchDecision& decision : r.decisions) list.push_back(json_of(decision));
  return {{"type", "search_decided"}, {"decisions", std::move(list)}};
}
JournalRecord read_search_decided(const json& value) {
  const json& list = field(value, "decisions");
  if (!list.is_array() || list.empty()) throw Malformed{"no decisions"};
  journal_record::SearchDecided record;
  for (const json& each : list) {
    const auto decision = decision_of_json(each);
    if (!decision) throw Malformed{decision.error().diagnostics.front().message};
    record.decisions.push_back(*decision);
  }
  return record;
}

struct Reader {
  const char* type;
  JournalRecord (*read)(const json&);
};
constexpr Reader readers[] = {{"supervised", read_supervised},
                              {"attempt_begun", read_attempt_begun},
                              {"ranks_started", read_ranks_started},
                              {"attempt_failing", read_attempt_failing},
                              {"attempt_hopeless", read_attempt_hopeless},
                              {"attempt_over", read_attempt_over},
                              {"trial_over", read_end<journal_record::TrialOver>},
                              {"search_decided", read_search_decided},
                              {"stop_requested", read_stop_requested},
                              {"task_over", read_end<journal_record::TaskOver>}};

json parse(std::string_view line) {
  if (line.size() > longest_journal_entry) throw Malformed{"too long"};
  json value = json::parse(line, [](int depth, json::parse_event_t, json&) {
    if (depth > deepest_nesting) throw Malformed{"nested too deep"};
    return true;
  });
  if (!value.is_object()) throw Malformed{"not an object"};
  return value;
}

JournalEntry read(std::string_view line) {
  const json value = parse(line);
  const std::string type = text_field(value, "type", longest_words);
  const auto* const reader = std::find_if(std::begin(readers), std::end(readers),
                                          [&](const Reader& each) { return type == each.type; });
  if (reader == std::end(readers)) throw Malformed{"unknown type"};
  JournalEntry entry{reader->read(value), instant_field(value, "at"),
                     text_field(value, "boot", longest_name)};
  if (value.contains("wall_ms"))
    entry.wall = milliseconds(number_field(value, "wall_ms", -latest_wall, latest_wall));
  if (value.contains("trial")) entry.trial = int_field(value, "trial", 0);
  if (entry.trial != 0 && !is_of_trial(entry.record)) throw Malformed{"a trial that is not meant"};
  return entry;
}

tl::unexpected<Error> damaged(const std::string& what) {
  return fail(ErrorClass::no_input, "the journal of the task is damaged: " + what,
              "'train task kill' ends what it may have left on its hosts");
}

}  // namespace

bool is_of_trial(const JournalRecord& record) {
  return !std::holds_alternative<journal_record::Supervised>(record) &&
         !std::holds_alternative<journal_record::SearchDecided>(record) &&
         !std::holds_alternative<journal_record::StopRequested>(record) &&
         !std::holds_alternative<journal_record::TaskOver>(record);
}

std::string encode_entry(const JournalEntry& entry) {
  json value = std::visit([](const auto& record) { return body(record); }, entry.record);
  value["at"] = entry.at.count();
  value["boot"] = from_bytes(entry.boot_id);
  if (entry.wall) value["wall_ms"] = entry.wall->count();
  if (entry.trial != 0) value["trial"] = entry.trial;
  return value.dump();
}

Result<JournalEntry> decode_entry(std::string_view line) {
  try {
    return read(line);
  } catch (const Malformed& error) {
    return damaged("an entry is malformed: " + error.what);
  } catch (const json::exception& error) {
    return damaged(fmt::format("an entry is malformed: {}", error.what()));
  }
}

Result<std::vector<JournalEntry>> decode_journal(const std::vector<std::string>& lines) {
  std::vector<JournalEntry> entries;
  entries.reserve(lines.size());
  for (const std::string& line : lines) {
    auto entry = decode_entry(line);
    if (!entry) return tl::make_unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  return entries;
}

}  // namespace train
