// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/journal_entry.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/frames/fields.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr int deepest_nesting = 8;
constexpr int most_attempts_of_task = 1'000'000;
constexpr std::size_t most_slots_of_host = 100'000;
constexpr std::int64_t latest_wall = 1'000'000'000'000'000;  // in milliseconds, or before 1970

constexpr Sequel sequels[] = {Sequel::restart,
                              Sequel::succeeded,
                              Sequel::stopped,
                              Sequel::never_started,
                              Sequel::invalid_hyperparameters,
                              Sequel::hopeless,
                              Sequel::unrecorded,
                              Sequel::processes_left,
                              Sequel::no_restarts_left,
                              Sequel::no_progress,
                              Sequel::same_cause};

constexpr ErrorClass error_classes[] = {
    ErrorClass::usage,   ErrorClass::no_input,   ErrorClass::never,       ErrorClass::bug,
    ErrorClass::missing, ErrorClass::busy,       ErrorClass::host,        ErrorClass::config,
    ErrorClass::hosts,   ErrorClass::worker,     ErrorClass::interrupted, ErrorClass::timeout,
    ErrorClass::hang,    ErrorClass::no_progress};

using Indices = std::vector<int>;

json json_of_indices(const Indices& slots) { return {{"slots", slots}}; }

Indices indices_of_json(const json& rank) {
  return int_list_field(rank, "slots", 0, INT32_MAX, most_slots_of_host);
}

message::Go go_of_json(const json& value) {
  const auto message = decode_message(to_bytes(value));
  if (!message || !std::holds_alternative<message::Go>(*message))
    throw Malformed{"ranks that were started with something else than 'go'"};
  return std::get<message::Go>(*message);
}

SearchDecision decision_of(const json& value) {
  const auto decision = decision_of_json(value);
  if (!decision) throw Malformed{decision.error().diagnostics.front().message};
  return *decision;
}

}  // namespace

void fields(auto& f, Described<AttemptEnd> auto& end) {
  f.flag("succeeded", end.succeeded);
  f.flag("any_started", end.any_started);
  f.flag("left_processes", end.left_processes);
  f.flag("hopeless", end.is_hopeless);
  f.flag("unrecorded", end.is_unrecorded);
  f.number("exit_code", end.exit_code, 0, 255);
  // Earlier versions did not know these.
  f.optional("moved", end.is_moved, [&] { f.flag("moved", end.is_moved); });
  f.optional("fence_ms", end.fence > milliseconds(0),
             [&] { f.duration("fence_ms", end.fence, 0, for_ever.count()); });
  f.optional("in_vain", !end.made_progress,
             [&] { f.flag_for("in_vain", end.made_progress, false, true); });
  f.optional("cause", end.cause != 0, [&] { f.number("cause", end.cause); });
}

// Of the error its class and its first problem.
void fields(auto& f, Described<Failure> auto& failure) {
  Diagnostic first;
  if (!f.reads) first = failure.error.diagnostics.front();
  f.duration("at", failure.at.at, INT64_MIN);
  f.duration("bound", failure.at.bound);
  f.choice("class", failure.error.error_class, error_classes, "a failure of an unknown class");
  fields(f, first);
  if constexpr (f.reads) failure.error.diagnostics = {first};
  f.number("host", failure.host, -1);
  f.number("exit_code", failure.exit_code, 0, 255);
  f.number("rank", failure.rank);
}

void fields(auto& f, Described<HostPlace> auto& host) {
  f.text("name", host.host, longest_words);
  f.number("workers", host.workers, 1);
  f.list_as("ranks", host.slots, no_limit, json_of_indices, indices_of_json);
}

void fields(auto& f, Described<TrialPlace> auto& place) {
  f.list("hosts", place.hosts);
  f.numbers("trainer_slots", place.trainer_slots, 0, INT32_MAX, most_slots_of_host);
  f.check([&] { return !place.hosts.empty(); }, "a place without hosts");
}

void fields(auto& f, Described<LeftOutHost> auto& left_out) {
  f.text("host", left_out.host, longest_words);
  f.text("why", left_out.why, longest_words);
}

namespace journal_record {

void fields(auto& f, Described<Supervised> auto& r) { f.number("epoch", r.epoch, 1); }
void fields(auto& f, Described<AttemptBegun> auto& r) {
  f.number("attempt", r.attempt, 0, most_attempts_of_task);
  f.object("place", r.place);
}
void fields(auto& f, Described<RanksStarted> auto& r) {
  f.value_as("go", r.go, encode_message, go_of_json);
}
void fields(auto& f, Described<AttemptFailing> auto& r) { f.object("first", r.first); }
void fields(auto&, Described<AttemptHopeless> auto&) {}
void fields(auto& f, Described<AttemptOver> auto& r) {
  f.object("end", r.end);
  f.optional("left_out", !r.left_out.empty(), [&] { f.list("left_out", r.left_out); });
}
void fields(auto& f, Described<StopRequested> auto& r) { f.number("signal", r.signal, 0, 127); }
void fields(auto& f, Described<SearchDecided> auto& r) {
  f.list_as(
      "decisions", r.decisions, no_limit,
      [](const SearchDecision& decision) { return json_of(decision); }, decision_of);
  f.check([&] { return !r.decisions.empty(); }, "no decisions");
}

template <class Fields, class Over>
void fields_of_end(Fields& f, Over& r) {
  f.choice("why", r.why, sequels, "an end for an unknown reason");
  f.object("end", r.end);
  f.number("signal", r.signal, trial_stop, 127);
}
void fields(auto& f, Described<TrialOver> auto& r) { fields_of_end(f, r); }
void fields(auto& f, Described<TaskOver> auto& r) { fields_of_end(f, r); }

}  // namespace journal_record

namespace {

constexpr std::tuple names{Named<journal_record::Supervised>{"supervised"},
                           Named<journal_record::AttemptBegun>{"attempt_begun"},
                           Named<journal_record::RanksStarted>{"ranks_started"},
                           Named<journal_record::AttemptFailing>{"attempt_failing"},
                           Named<journal_record::AttemptHopeless>{"attempt_hopeless"},
                           Named<journal_record::AttemptOver>{"attempt_over"},
                           Named<journal_record::TrialOver>{"trial_over"},
                           Named<journal_record::SearchDecided>{"search_decided"},
                           Named<journal_record::StopRequested>{"stop_requested"},
                           Named<journal_record::TaskOver>{"task_over"}};

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
  JournalEntry entry{variant_of_json<JournalRecord>(value, "type", names),
                     instant_field(value, "at"), text_field(value, "boot", longest_name)};
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

std::string left_out_text(const LeftOutHost& host) {
  return fmt::format("host '{}' is left out from now on: {}", host.host, host.why);
}

bool is_of_trial(const JournalRecord& record) {
  return !std::holds_alternative<journal_record::Supervised>(record) &&
         !std::holds_alternative<journal_record::SearchDecided>(record) &&
         !std::holds_alternative<journal_record::StopRequested>(record) &&
         !std::holds_alternative<journal_record::TaskOver>(record);
}

std::string encode_entry(const JournalEntry& entry) {
  json value = json_of_variant(entry.record, "type", names);
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
