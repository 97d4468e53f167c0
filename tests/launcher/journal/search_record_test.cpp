// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/search_record.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "config_schema/experiment/experiment_config.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;
namespace record = journal_record;

namespace {

SearchConfig small_halving() {
  const auto experiment = parse_experiment(
      {"x.yaml",
       "entrypoint: 'true'\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
       "searcher: {name: async_halving, metric: loss, max_length: {batches: 9}, num_rungs: 3,\n"
       "           divisor: 3, max_trials: 6, max_concurrent_trials: 3}\n"},
      {}, ReadFor::planning);
  return *experiment->search_config;
}

// A journal as a launcher writes it, a second for each entry.
class Written {
 public:
  Written& add(JournalRecord record, int trial = 0) {
    JournalEntry entry{std::move(record), 100s, "boot"};
    entry.wall = milliseconds(1'000 * static_cast<std::int64_t>(entries_.size()));
    entry.trial = trial;
    entries_.push_back(std::move(entry));
    return *this;
  }
  Written& begin(int trial) {
    return add(record::AttemptBegun{0, TrialPlace{{{"h0", 1, {{0}}}}, {}}}, trial);
  }
  Written& end(int trial, Sequel why, int code = 0) {
    AttemptEnd end;
    end.any_started = true;
    end.succeeded = why == Sequel::succeeded;
    end.exit_code = code;
    return add(record::TrialOver{why, end, {}}, trial);
  }
  Written& decide(SearchDecision decision) { return add(record::SearchDecided{{decision}}); }
  const std::vector<JournalEntry>& entries() const { return entries_; }

 private:
  std::vector<JournalEntry> entries_;
};

// Three trials run; 1 is told to stop and has ended, 3 begins in its place, 0 fails.
Written some_journal() {
  Written journal;
  journal.add(record::Supervised{1}).begin(0).begin(1).begin(2);
  journal.decide({0, SearchVerdict::go_on, 0, 1, 0.5});
  journal.decide({1, SearchVerdict::stop, 0, 1, 0.6});
  journal.end(1, Sequel::stopped, 143).begin(3);
  record::AttemptFailing failing;
  failing.first = Failure{{}, make_error(ErrorClass::worker, "rank 0 exited with code 3"), 0, 0, 3};
  journal.add(failing, 0).end(0, Sequel::no_restarts_left, 3);
  journal.decide({0, SearchVerdict::failed});
  return journal;
}

std::vector<TrialState> states_of(const SearchRecord& search) {
  std::vector<TrialState> states;
  for (const TrialRecord& trial : search.trials) states.push_back(trial.state);
  return states;
}

}  // namespace

TEST_CASE("the journal of a search tells how each trial is") {
  const auto search = search_record(small_halving(), some_journal().entries(), false);
  REQUIRE(search);
  using enum TrialState;
  CHECK(states_of(*search) == std::vector{failed, stopped, running, running, waiting});
  const TrialRecord& first = search->trials[0];
  REQUIRE(first.attempts.size() == 1);
  CHECK(first.attempts[0] == TrialAttempt{0, {"h0"}, 1'000, 9'000, 3, "rank 0 exited with code 3"});
  CHECK(search->trials[1].attempts[0].exit_code == 143);
  CHECK_FALSE(search->trials[2].attempts[0].ended);
  CHECK(search->trials[4].attempts.empty());
  CHECK(first.hyperparameters_json != search->trials[1].hyperparameters_json);
}

TEST_CASE("a trial that was told to stop is stopping until it has ended") {
  Written journal;
  journal.add(record::Supervised{1}).begin(0).begin(1).begin(2);
  journal.decide({0, SearchVerdict::go_on, 0, 1, 0.5}).decide({1, SearchVerdict::stop, 0, 1, 0.6});
  auto search = search_record(small_halving(), journal.entries(), false);
  REQUIRE(search);
  CHECK(search->trials[1].state == TrialState::stopping);
  journal.end(1, Sequel::stopped, 143);
  search = search_record(small_halving(), journal.entries(), false);
  CHECK(search->trials[1].state == TrialState::stopped);
  CHECK(search->trials[0].state == TrialState::running);
  search = search_record(small_halving(), journal.entries(), true);  // the task has ended
  CHECK(search->trials[0].state == TrialState::stopped);
}

TEST_CASE("an attempt that another supervisor begins again is one attempt") {
  auto journal = some_journal();
  journal.add(record::Supervised{2}).begin(3);
  const auto search = search_record(small_halving(), journal.entries(), false);
  REQUIRE(search);
  REQUIRE(search->trials[3].attempts.size() == 1);
  CHECK(search->trials[3].attempts[0].started == 12'000);
}

TEST_CASE("the last trials end with the task") {
  Written journal = some_journal();
  journal.add(record::TaskOver{Sequel::stopped, {}, 15});
  const auto search = search_record(small_halving(), journal.entries(), true);
  REQUIRE(search);
  CHECK(search->trials[0].attempts[0].ended == 9'000);
  CHECK(search->trials[2].attempts[0].ended == 11'000);
  CHECK(search->trials[3].attempts[0].ended == 11'000);
}

TEST_CASE("one that the user has ended counts as failed, and is killed") {
  Written journal;
  journal.add(record::Supervised{1}).begin(0).begin(1).begin(2);
  journal.decide({2, SearchVerdict::failed}).end(2, Sequel::stopped, 143);
  const auto search = search_record(small_halving(), journal.entries(), false);
  REQUIRE(search);
  CHECK(search->trials[2].state == TrialState::killed);
}

TEST_CASE("one that has never begun was ended by the user, where it counts as failed") {
  Written journal;
  journal.add(record::Supervised{1}).begin(0).begin(1).begin(2);
  journal.decide({0, SearchVerdict::ended}).end(0, Sequel::succeeded);
  journal.decide({3, SearchVerdict::failed});
  const auto search = search_record(small_halving(), journal.entries(), false);
  REQUIRE(search);
  CHECK(search->trials[3].state == TrialState::killed);
}

TEST_CASE("where a rank of a trial is, the journal says") {
  Written journal;
  const auto begin = [&](int attempt, const char* second) {
    journal.add(
        record::AttemptBegun{attempt, TrialPlace{{{"h0", 1, {{0}}}, {second, 2, {{0}, {1}}}}, {}}},
        7);
  };
  journal.begin(0);
  begin(0, "h1");
  CHECK_FALSE(trial_rank_of(journal.entries(), 3, 0));
  CHECK_FALSE(trial_rank_of(journal.entries(), 7, 3));
  CHECK(trial_rank_of(journal.entries(), 0, 0) == TrialRank{"h0", false});
  CHECK(trial_rank_of(journal.entries(), 7, 0) == TrialRank{"h0", false});
  CHECK(trial_rank_of(journal.entries(), 7, 2) == TrialRank{"h1", false});
  begin(1, "h2");
  CHECK(trial_rank_of(journal.entries(), 7, 1) == TrialRank{"h2", false});
  journal.end(7, Sequel::succeeded);
  CHECK(trial_rank_of(journal.entries(), 7, 1) == TrialRank{"h2", true});
  CHECK(trial_rank_of(journal.entries(), 0, 0) == TrialRank{"h0", false});
}

TEST_CASE("reports count until the one by which a trial is told to stop") {
  auto search = search_record(small_halving(), some_journal().entries(), false);
  REQUIRE(search);
  add_reports(*search, [](const TrialRecord& trial) -> std::vector<std::string> {
    if (trial.trial == 0)
      return {R"({"loss": null, "batches": 1})", R"({"loss": 0.5, "batches": 1})"};
    if (trial.trial == 1)
      return {R"({"loss": 0.6, "batches": 1})", R"({"loss": 0.1, "batches": 2})",
              R"({"note": "no metric"})"};
    return {};
  });
  CHECK(search->trials[0].reports.size() == 2);
  CHECK(search->trials[0].best == BestReport{0, 1, 0.5});
  CHECK(search->trials[1].best == BestReport{1, 1, 0.6});
  CHECK(search->trials[1].reports.size() == 3);
  CHECK_FALSE(search->trials[1].reports[2].step);
  CHECK(best_of(*search) == BestReport{0, 1, 0.5});
  const auto json = nlohmann::json::parse(search_to_json(*search));
  CHECK(json["search"]["decisions"].size() == 3);
  CHECK(json["search"]["best"]["trial"] == 0);
  CHECK(json["trials"].size() == 5);
  CHECK(json["trials"][1]["reports"][1]["metrics"]["loss"] == 0.1);
  CHECK(json["trials"][0]["attempts"][0]["exit_code"] == 3);
}

TEST_CASE("no report counts behind one that was no number, by which a trial is told to stop") {
  Written journal;
  journal.add(record::Supervised{1}).begin(0).begin(1).begin(2);
  journal.decide({0, SearchVerdict::go_on, 0, 1, 0.5});
  journal.decide({1, SearchVerdict::stop, 0, 1, std::numeric_limits<double>::quiet_NaN()});
  auto search = search_record(small_halving(), journal.entries(), false);
  REQUIRE(search);
  add_reports(*search, [](const TrialRecord& trial) -> std::vector<std::string> {
    if (trial.trial != 1) return {};
    return {R"({"loss": null, "batches": 1})", R"({"loss": 0.1, "batches": 2})"};
  });
  CHECK(search->trials[1].reports.size() == 2);
  CHECK_FALSE(search->trials[1].best);
}

TEST_CASE("a journal of another search is none of this one") {
  Written journal;
  journal.add(record::Supervised{1}).begin(0);
  journal.decide({5, SearchVerdict::stop, 0, 1, 0.5});
  const auto search = search_record(small_halving(), journal.entries(), false);
  REQUIRE_FALSE(search);
  CHECK(search.error().error_class == ErrorClass::no_input);
}

TEST_CASE("an attempt has the time when its ranks were told to start") {
  Written journal;
  journal.add(record::Supervised{1}).begin(0).begin(1).add(record::RanksStarted{{}}, 1);
  const auto search = search_record(small_halving(), journal.entries(), false);
  REQUIRE(search);
  CHECK_FALSE(search->trials[0].attempts[0].ranks_started);
  CHECK(search->trials[1].attempts[0].ranks_started == 3'000);
}
