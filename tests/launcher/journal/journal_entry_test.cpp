// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/journal_entry.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/task/attempt_ends.hpp"

using namespace train;
using namespace std::chrono_literals;
namespace record = journal_record;

namespace {

Failure lost_host() {
  return {{900s, 2s}, make_error(ErrorClass::host, "host 'a' is lost \xff", "look"), {}, 1, 0};
}
Failure failed_rank() {
  return {{900s, 0s}, make_error(ErrorClass::worker, "rank 3 failed"), 3, 0, 137};
}

message::Go go_of(int attempt) {
  message::Go go{"10.0.0.1", 2'900, "10.0.0.2", 2'901, {"a:1", "b:2"}};
  go.slots = SlotMeaning::cuda;
  go.of = {0, attempt};
  return go;
}

std::vector<JournalRecord> one_of_each() {
  return {record::Supervised{7},
          record::AttemptBegun{2},
          record::AttemptBegun{2, TrialPlace{{{"h0", 2, {{0}, {1, 3}}}, {"h1", 1, {{}}}}, {2}}},
          record::RanksStarted{go_of(2)},
          record::AttemptFailing{},
          record::AttemptFailing{lost_host()},
          record::AttemptFailing{failed_rank()},
          record::AttemptHopeless{},
          record::AttemptOver{failed_with(3)},
          record::AttemptOver{failed_with(3), {{"h0", "log policy 'x'"}, {"h1", "y"}}},
          record::TrialOver{Sequel::invalid_hyperparameters, failed_with(3), {}},
          record::TrialOver{Sequel::stopped, {}, 15},
          record::TrialOver{Sequel::stopped, {}, trial_stop},
          record::SearchDecided{{{0, SearchVerdict::stop, 1, 20, 0.5}, {3, SearchVerdict::ended}}},
          record::StopRequested{15},
          record::StopRequested{runtime_over},
          record::TaskOver{Sequel::unrecorded, failed_with(3), {}},
          record::TaskOver{Sequel::stopped, {}, 2}};
}

std::vector<JournalEntry> entries_of(const std::vector<JournalRecord>& records,
                                     const std::string& boot_id = "boot") {
  std::vector<JournalEntry> entries;
  for (const JournalRecord& each : records)
    entries.push_back({each, 100s + 1s * entries.size(), boot_id});
  return entries;
}

Task::Rules rules() { return {3, 4'000ms}; }

Result<Replay> replayed(const std::vector<JournalRecord>& records) {
  return replay(entries_of(records), rules(), 1'000s, "boot");
}

std::string complaint_of(const std::vector<JournalRecord>& records) {
  const auto result = replayed(records);
  return result ? "" : result.error().diagnostics.front().message;
}

}  // namespace

TEST_CASE("an entry of a journal is read back as it was written") {
  for (const JournalEntry& entry : entries_of(one_of_each())) {
    const std::string line = encode_entry(entry);
    CAPTURE(line);
    CHECK(line.find('\n') == std::string::npos);
    const auto read = decode_entry(line);
    REQUIRE(read);
    CHECK(read->at == entry.at);
    CHECK(read->boot_id == entry.boot_id);
    CHECK(read->record.index() == entry.record.index());
    CHECK(encode_entry(*read) == line);
  }
  const auto timed = decode_entry(encode_entry({record::AttemptHopeless{}, 1s, "b", -5ms}));
  CHECK(timed->wall == -5ms);
  const auto go = decode_entry(encode_entry({record::RanksStarted{go_of(1)}, 1s, "b"}));
  CHECK(!go->wall);
  CHECK(std::get<record::RanksStarted>(go->record).go == go_of(1));
  const auto failing = decode_entry(encode_entry({record::AttemptFailing{lost_host()}, 1s, "b"}));
  const Failure& first = *std::get<record::AttemptFailing>(failing->record).first;
  CHECK(first.error == lost_host().error);
  CHECK(first.at == lost_host().at);
}

TEST_CASE("no part of an entry is taken for a whole one") {
  for (const JournalEntry& entry : entries_of(one_of_each())) {
    const std::string line = encode_entry(entry);
    for (std::size_t size = 0; size < line.size(); ++size) {
      const auto read = decode_entry(std::string_view(line).substr(0, size));
      CHECK(!read);
      if (!read) CHECK(read.error().error_class == ErrorClass::no_input);
    }
  }
}

TEST_CASE("what is no entry of this version is refused") {
  const std::string start = R"("at":1,"boot":"b")";
  for (const std::string& line : {
           std::string("null"),
           std::string("[]"),
           std::string("{}"),
           std::string(100'000, '['),
           "{\"type\":\"unheard_of\"," + start + "}",
           "{\"type\":\"supervised\",\"epoch\":0," + start + "}",
           "{\"type\":\"supervised\",\"epoch\":-1," + start + "}",
           "{\"type\":\"supervised\",\"epoch\":1e3," + start + "}",
           "{\"type\":\"attempt_begun\",\"attempt\":-1," + start + "}",
           "{\"type\":\"attempt_begun\",\"attempt\":99999999," + start + "}",
           "{\"type\":\"ranks_started\",\"go\":\"{\\\"type\\\":\\\"bye\\\"}\"," + start + "}",
           "{\"type\":\"ranks_started\",\"go\":\"{}\"," + start + "}",
           encode_entry({record::Supervised{1}, 1s, "b", 2'000'000'000'000'000ms}),
           "{\"type\":\"supervised\",\"epoch\":1,\"wall_ms\":\"1\"," + start + "}",
           "{\"type\":\"attempt_failing\",\"first\":{}," + start + "}",
           "{\"type\":\"stop_requested\",\"signal\":1000," + start + "}",
           "{\"type\":\"task_over\",\"why\":\"tired\"," + start + "}",
           "{\"type\":\"attempt_begun\",\"attempt\":0,\"trial\":-1," + start + "}",
           "{\"type\":\"stop_requested\",\"signal\":2,\"trial\":1," + start + "}",
           std::string("{\"type\":\"supervised\",\"epoch\":1,\"at\":1}"),
           "{\"type\":\"supervised\",\"epoch\":1," + start + "} x",
       }) {
    CAPTURE(line.substr(0, 100));
    CHECK(!decode_entry(line));
  }
  CHECK(!decode_entry("{\"type\":\"" + std::string(longest_journal_entry, 'x') + "\"}"));
}

TEST_CASE("a failure with much to say fits into its entry") {
  Failure failure = lost_host();
  failure.error = make_error(ErrorClass::host, std::string(1u << 20, '\xfe'));
  const std::string line = encode_entry({record::AttemptFailing{failure}, 1s, "b"});
  CHECK(line.size() < 16u << 10);
  CHECK(decode_entry(line));
}

TEST_CASE("a journal is replayed to the state of its task") {
  const auto running =
      replayed({record::Supervised{1}, record::AttemptBegun{0}, record::RanksStarted{go_of(0)}});
  REQUIRE(running);
  CHECK(running->epoch == 1);
  CHECK(running->first().attempt == 0);
  CHECK(running->first().go == go_of(0));
  CHECK(running->first().started_at == 102s);
  CHECK(running->first().task.attempts().back() == AttemptState::running);

  const auto waiting =
      replayed({record::Supervised{1}, record::AttemptBegun{0}, record::RanksStarted{go_of(0)},
                record::AttemptFailing{failed_rank()}, record::AttemptOver{failed_with(3)}});
  REQUIRE(waiting);
  CHECK(waiting->first().attempt == 0);
  CHECK(waiting->first().task.attempt() == 1);
  CHECK(waiting->first().task.attempts().back() == AttemptState::waiting);
  CHECK(waiting->first().task.next_deadline() == 107s);  // four seconds after it was known to fail
  CHECK_FALSE(waiting->first().go);
  CHECK_FALSE(waiting->first().failure);
}

TEST_CASE("what a supervisor has begun and not started is begun again") {
  const std::vector<JournalRecord> records = {
      record::Supervised{1},          record::AttemptBegun{0},
      record::RanksStarted{go_of(0)}, record::AttemptOver{failed_with(3)},
      record::AttemptBegun{1},        record::Supervised{2},
      record::AttemptBegun{1},        record::StopRequested{2}};
  const auto result = replayed(records);
  REQUIRE(result);
  CHECK(result->epoch == 2);
  CHECK(result->first().attempt == 1);
  CHECK_FALSE(result->first().go);
  CHECK(result->stop_signals == std::vector<int>{2});
}

TEST_CASE("the end of a task is one record") {
  const auto by_attempt = replayed({record::Supervised{1}, record::AttemptBegun{0},
                                    record::TaskOver{Sequel::never_started, AttemptEnd{}, {}}});
  REQUIRE(by_attempt);
  CHECK(by_attempt->first().task.over());
  CHECK(by_attempt->over->why == Sequel::never_started);
  const auto by_user =
      replayed({record::Supervised{1}, record::AttemptBegun{0}, record::AttemptOver{failed_with(3)},
                record::TaskOver{Sequel::stopped, {}, 2}});
  REQUIRE(by_user);
  CHECK(by_user->first().task.over());
  CHECK(by_user->first().task.attempts().back() == AttemptState::cancelled);
}

TEST_CASE("instants of another boot are not used") {
  auto entries = entries_of({record::Supervised{1}, record::AttemptBegun{0},
                             record::RanksStarted{go_of(0)}, record::AttemptFailing{lost_host()}},
                            "boot before");
  const auto failing = replay(entries, rules(), 50s, "boot");
  REQUIRE(failing);
  CHECK_FALSE(failing->first().started_at);
  CHECK(failing->first().failure->at.at + failing->first().failure->at.bound <= 50s);
  entries.push_back({record::AttemptOver{failed_with(3)}, 200s, "boot before"});
  CHECK(replay(entries, rules(), 50s, "boot")->first().task.next_deadline() == 54s);
  entries.push_back({record::AttemptBegun{1}, 20s, "boot"});  // and so before "now"
  CHECK(replay(entries, rules(), 50s, "boot")->first().task.attempts().back() ==
        AttemptState::running);
}

TEST_CASE("hosts that are left out are known to the next launcher") {
  const LeftOutHost one{"h0", "its ranks were the first to fail"};
  const LeftOutHost other{"h2", "log policy"};
  const auto known = replayed({record::Supervised{1}, record::AttemptBegun{0},
                               record::AttemptOver{failed_with(3), {one}}, record::AttemptBegun{1},
                               record::AttemptOver{failed_with(3)}, record::AttemptBegun{2},
                               record::AttemptOver{failed_with(3), {other}}});
  REQUIRE(known);
  CHECK(known->left_out == std::vector{one, other});
}

TEST_CASE("the time of a task goes on over its launchers, and over a boot of their machine") {
  Task::Rules limited = rules();
  limited.max_runtime = 100s;
  const std::vector<JournalRecord> records = {
      record::Supervised{1}, record::AttemptBegun{0}, record::RanksStarted{go_of(0)},
      record::AttemptOver{failed_with(3)}, record::AttemptBegun{1}};
  const auto until = [&](const std::string& boot_id, std::optional<milliseconds> wall) {
    auto entries = entries_of(records, boot_id);
    for (JournalEntry& entry : entries)
      entry.wall = std::chrono::floor<milliseconds>(entry.at) + 5'000s;
    auto known = replay(entries, limited, 1'000s, "boot", wall);
    REQUIRE(known);
    return *known->first().task.next_deadline();
  };
  CHECK(until("boot", 6'000s) == 202s);           // the ranks were started at 102 s
  CHECK(until("boot before", 6'400s) == -198s);   // 400 s earlier, by the wall clock
  CHECK(until("boot before", 2'000s) == 1'100s);  // a clock that was set: not in the future
  CHECK(until("boot before", std::nullopt) == 1'100s);
  CHECK(until("boot before", 900'000'000'000'000ms) < -3'000'000'000s);  // as far as instants go
}

TEST_CASE("a journal that no task can have written is refused") {
  const record::Supervised first{1};
  const record::AttemptBegun begun{0};
  const record::RanksStarted started{go_of(0)};
  CHECK(complaint_of({}) == "the journal of the task is empty");
  CHECK(complaint_of({begun}) == "the journal of the task is damaged: it has no supervisor");
  for (const std::vector<JournalRecord>& records : {
           std::vector<JournalRecord>{first, first},
           {first, started},
           {first, record::AttemptBegun{1}},
           {first, begun, record::RanksStarted{go_of(1)}},
           {first, begun, started, started},
           {first, begun, started, begun},
           {first, begun, record::AttemptOver{AttemptEnd{}}},
           {first, record::AttemptOver{failed_with(3)}},
           {first, record::AttemptFailing{}},
           {first, record::AttemptHopeless{}},
           {first, begun, record::AttemptOver{failed_with(3)}, record::StopRequested{2}},
           {first, begun, record::TaskOver{Sequel::no_restarts_left, failed_with(3), {}}},
           {first, begun, record::TaskOver{Sequel::stopped, {}, 2}},
           {first, begun, record::TaskOver{Sequel::never_started, AttemptEnd{}, {}}, begun},
       })
    CHECK(complaint_of(records) != "");
}

TEST_CASE("replays that differ in anything differ as text") {
  const std::vector<JournalRecord> records = {
      record::Supervised{1},
      record::AttemptBegun{0},
      record::RanksStarted{go_of(0)},
      record::AttemptHopeless{},
      record::AttemptFailing{failed_rank()},
      record::StopRequested{2},
      record::TaskOver{Sequel::stopped, failed_with(3), {}}};
  std::vector<std::string> seen;
  for (std::size_t count = 1; count <= records.size(); ++count) {
    const auto result = replayed({records.begin(), records.begin() + static_cast<long>(count)});
    REQUIRE(result);
    CHECK(std::find(seen.begin(), seen.end(), snapshot_of(*result)) == seen.end());
    seen.push_back(snapshot_of(*result));
  }
}

namespace {

// The entry of a trial.
struct OfTrial {
  int trial;
  JournalRecord record;
};

Result<Replay> replayed_trials(const std::vector<OfTrial>& records) {
  std::vector<JournalEntry> entries;
  for (const OfTrial& each : records) {
    entries.push_back({each.record, 100s + 1s * entries.size(), "boot"});
    entries.back().trial = each.trial;
  }
  return replay(entries, rules(), 1'000s, "boot");
}

message::Go go_in(AttemptId of) {
  message::Go go = go_of(of.attempt);
  go.of = of;
  return go;
}

AttemptEnd succeeded() {
  AttemptEnd end;
  end.succeeded = end.any_started = true;
  return end;
}

}  // namespace

TEST_CASE("an attempt whose hosts were taken away is told from others, also by earlier versions") {
  AttemptEnd moved;
  moved.is_moved = true;
  moved.fence = 42'000ms;
  moved.made_progress = false;
  moved.cause = INT64_MAX;
  const JournalEntry entry{record::AttemptOver{moved}, 5s, "boot"};
  const auto read = decode_entry(encode_entry(entry));
  REQUIRE(read);
  CHECK(std::get<record::AttemptOver>(read->record).end == moved);
  const JournalEntry usual{record::AttemptOver{failed_with(3)}, 5s, "boot"};
  CHECK(encode_entry(usual).find("moved") == std::string::npos);
  for (const char* name : {"fence", "in_vain", "cause"})
    CHECK(encode_entry(usual).find(name) == std::string::npos);
  CHECK_FALSE(
      std::get<record::AttemptOver>(decode_entry(encode_entry(usual))->record).end.is_moved);
}

TEST_CASE("an entry knows its trial") {
  JournalEntry entry{record::AttemptBegun{1}, 5s, "boot"};
  entry.trial = 7;
  const auto read = decode_entry(encode_entry(entry));
  REQUIRE(read);
  CHECK(read->trial == 7);
  entry.trial = 0;
  CHECK(encode_entry(entry).find("trial") == std::string::npos);
}

TEST_CASE("trials are replayed each by itself, however their entries are mixed") {
  const auto known = replayed_trials({{0, record::Supervised{1}},
                                      {0, record::AttemptBegun{0}},
                                      {2, record::AttemptBegun{0}},
                                      {2, record::RanksStarted{go_in({2, 0})}},
                                      {0, record::RanksStarted{go_in({0, 0})}},
                                      {2, record::AttemptFailing{failed_rank()}},
                                      {2, record::AttemptHopeless{}},
                                      {1, record::AttemptBegun{0}},
                                      {0, record::AttemptOver{failed_with(3)}},
                                      {1, record::AttemptOver{failed_with(3)}},
                                      {1, record::TrialOver{Sequel::stopped, {}, 15}},
                                      {0, record::AttemptBegun{1}}});
  REQUIRE(known);
  REQUIRE(known->trials.size() == 3);
  CHECK(known->trials.at(0).attempt == 1);
  CHECK_FALSE(known->trials.at(0).go);
  CHECK_FALSE(known->trials.at(0).failure);
  CHECK(known->trials.at(1).task.over());
  CHECK(known->trials.at(2).go == go_in({2, 0}));
  CHECK(known->trials.at(2).started_at == 103s);
  CHECK(known->trials.at(2).failure);
  CHECK(known->trials.at(2).is_hopeless);
  CHECK_FALSE(known->over);
}

TEST_CASE("the user's stop is meant for all trials that are not over") {
  const auto known = replayed_trials({{0, record::Supervised{1}},
                                      {0, record::AttemptBegun{0}},
                                      {1, record::AttemptBegun{0}},
                                      {1, record::TrialOver{Sequel::succeeded, succeeded(), {}}},
                                      {2, record::AttemptBegun{0}},
                                      {0, record::StopRequested{2}}});
  REQUIRE(known);
  CHECK(known->stop_signals == std::vector{2});
  CHECK_FALSE(known->trials.at(0).task.may_restart());
  CHECK_FALSE(known->trials.at(2).task.may_restart());
  CHECK_FALSE(known->trials.at(0).task.over());
}

TEST_CASE("a task is over once its last trial is") {
  std::vector<OfTrial> records = {{0, record::Supervised{1}},
                                  {0, record::AttemptBegun{0}},
                                  {1, record::AttemptBegun{0}},
                                  {1, record::TrialOver{Sequel::succeeded, succeeded(), {}}},
                                  {0, record::TaskOver{Sequel::succeeded, succeeded(), {}}}};
  const auto known = replayed_trials(records);
  REQUIRE(known);
  CHECK(known->over);
  records[4] = {0, record::TrialOver{Sequel::succeeded, succeeded(), {}}};
  records.push_back({0, record::TaskOver{Sequel::succeeded, {}, {}}});
  REQUIRE(replayed_trials(records));
}

TEST_CASE("a journal of trials that no task can have written is damaged") {
  const auto complaint = [](const std::vector<OfTrial>& records) {
    const auto known = replayed_trials(records);
    return known ? std::string() : known.error().diagnostics.front().message;
  };
  const OfTrial supervised{0, record::Supervised{1}};
  const auto damaged = [](const std::string& how) {
    return "the journal of the task is damaged: " + how;
  };
  CHECK(complaint({supervised, {3, record::AttemptOver{failed_with(3)}}}) ==
        damaged("trial 3 was never begun"));
  CHECK(complaint({supervised,
                   {1, record::AttemptBegun{0}},
                   {1, record::TrialOver{Sequel::succeeded, succeeded(), {}}},
                   {1, record::TrialOver{Sequel::succeeded, succeeded(), {}}}}) ==
        damaged("trial 1 ends twice"));
  CHECK(complaint({supervised,
                   {0, record::AttemptBegun{0}},
                   {1, record::AttemptBegun{0}},
                   {0, record::TaskOver{Sequel::succeeded, succeeded(), {}}}}) ==
        damaged("the task ends before its trials"));
  CHECK(complaint(
            {supervised, {1, record::AttemptBegun{0}}, {1, record::RanksStarted{go_in({2, 0})}}}) ==
        damaged("ranks start in attempt 0"));
  CHECK(complaint({supervised, {1, record::AttemptBegun{1}}}) ==
        damaged("attempt 1 begins out of turn"));
}
