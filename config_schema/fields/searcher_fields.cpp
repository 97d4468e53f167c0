// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/field_table.hpp"

namespace train {

namespace {

using enum FieldType;
using enum FieldSource;
constexpr std::int64_t most_rungs = 1000;

constexpr std::string_view asha = "adaptive_asha|async_halving";
constexpr std::string_view several = "random|grid|adaptive_asha|async_halving";
constexpr std::string_view counted = "random|adaptive_asha|async_halving";
constexpr std::string_view all_but_custom = "single|random|grid|adaptive_asha|async_halving";

constexpr Field fields[] = {
    Field{"searcher", mapping, determined, "", "how the values of hyperparameters are chosen"}
        .selected_by("name")
        .open_to("custom"),
    Field{"searcher.name", string, determined, "single",
          "the method; single: one trial, with values that are drawn from ranges"}
        .one_of("single|random|grid|adaptive_asha|async_halving")
        .later_ones("custom")
        .gone_ones("adaptive=write adaptive_asha, with max_trials in place of budget|"
                   "adaptive_simple=write adaptive_asha: its keys are the same|"
                   "sync_halving=write adaptive_asha, with max_trials in place of budget|"
                   "pbt=write random or adaptive_asha: population based training is gone")
        .needed(),
    Field{"searcher.metric", string, determined, "",
          "the validation metric by which trials are compared"}
        .needed(several),
    Field{"searcher.smaller_is_better", boolean, determined, "true",
          "whether the smaller metric is the better one"},
    Field{"searcher.max_length", integer | mapping, determined, "",
          "how long the best trials of an ASHA train: a number of batches, or one of the keys "
          "below; other methods leave it to the trials"}
        .from(0)
        .of(all_but_custom)
        .one_key(),
    Field{"searcher.max_length.batches", integer, determined, "", "batches that a trial trains"}
        .from(1),
    Field{"searcher.max_length.records", integer, determined, "", "samples that a trial trains"}
        .from(1),
    Field{"searcher.max_length.epochs", integer, determined, "", "epochs that a trial trains"}.from(
        1),
    Field{"searcher.max_time", integer, determined, "",
          "how long the best trials train, counted by time_metric"}
        .from(1)
        .of(asha),
    Field{"searcher.time_metric", string, determined, "",
          "the training metric that counts time, such as batches"}
        .of(asha),
    Field{"searcher.max_trials", integer, determined, "", "how many trials run in all"}
        .from(1)
        .of(counted)
        .needed(counted),
    Field{"searcher.max_concurrent_trials", integer, determined, "16",
          "how many trials run at once; 0: as many as fit"}
        .from(0)
        .of(several),
    Field{"searcher.mode", string, determined, "standard",
          "how early trials are stopped that do badly"}
        .one_of("aggressive|standard|conservative")
        .of("adaptive_asha"),
    Field{"searcher.divisor", number, determined, "4",
          "of the trials that are compared, one in so many goes on"}
        .above(1)
        .of(asha),
    Field{"searcher.max_rungs", integer, determined, "5",
          "how often a trial is compared with others, at most"}
        .from(1)
        .to(most_rungs)
        .of("adaptive_asha"),
    Field{"searcher.bracket_rungs", list, determined, "[]",
          "comparisons of each bracket, instead of those that mode implies"}
        .of("adaptive_asha"),
    Field{"searcher.bracket_rungs[]", integer, determined, "", "comparisons of one bracket"}
        .from(1)
        .to(most_rungs),
    Field{"searcher.num_rungs", integer, determined, "",
          "how often a trial is compared with others"}
        .from(1)
        .to(most_rungs)
        .of("async_halving")
        .needed("async_halving"),
    Field{"searcher.stop_once", boolean, determined, "false",
          "a trial that was stopped is never taken up again"}
        .of(asha),
    Field{"searcher.unit", string, determined, "",
          "the unit of the lengths that the method counts in"}
        .one_of("batches|records|epochs")
        .of("custom"),
    Field{"searcher.source_trial_id", integer, determined, "",
          "the trial whose latest checkpoint every trial starts from"}
        .no_effect(),
    Field{"searcher.source_checkpoint_uuid", string, determined, "",
          "the checkpoint that every trial starts from"}
        .no_effect(),
    Field{"searcher.max_steps", any, determined, "",
          "write max_length: {batches: N}; a step was batches_per_step batches, 100 by default"}
        .removed(),
    Field{"searcher.target_trial_steps", any, determined, "",
          "write max_length: {batches: N}; a step was batches_per_step batches, 100 by default"}
        .removed(),
    Field{"searcher.step_budget", any, determined, "",
          "write max_trials, the number of trials to run"}
        .removed(),
    Field{"searcher.budget", any, determined, "", "write max_trials, the number of trials to run"}
        .removed(),
    Field{"searcher.train_stragglers", any, determined, "", "remove it: it has no successor"}
        .removed(),
    Field{"searcher.steps_per_round", any, determined, "",
          "remove it: population based training is gone"}
        .removed(),
    Field{"searcher.length_per_round", any, determined, "",
          "remove it: population based training is gone"}
        .removed(),
    Field{"searcher.num_rounds", any, determined, "",
          "remove it: population based training is gone"}
        .removed(),
    Field{"searcher.population_size", any, determined, "",
          "remove it: population based training is gone"}
        .removed(),
    Field{"searcher.replace_function", any, determined, "",
          "remove it: population based training is gone"}
        .removed(),
    Field{"searcher.explore_function", any, determined, "",
          "remove it: population based training is gone"}
        .removed(),
};

constexpr std::string_view least = "the smallest value that is tried";
constexpr std::string_view most = "the largest value that is tried, above minval";
constexpr std::string_view points = "how many values a grid search takes from the range";

// One mapping per kind; `type` selects the kind.
constexpr Field kinds_of_values[] = {
    Field{"const", mapping, determined, "", "one value, the same as the plain value"},
    Field{"const.type", string, determined, "", "the kind"}.one_of("const").needed(),
    Field{"const.val", any, determined, "", "the value"},
    Field{"int", mapping, determined, "", "a whole number of a range"},
    Field{"int.type", string, determined, "", "the kind"}.one_of("int").needed(),
    Field{"int.minval", integer, determined, "", least}.needed(),
    Field{"int.maxval", integer, determined, "", most}.needed(),
    Field{"int.count", integer, determined, "", points}.from(1),
    Field{"double", mapping, determined, "", "a number of a range"},
    Field{"double.type", string, determined, "", "the kind"}.one_of("double").needed(),
    Field{"double.minval", number, determined, "", least}.needed(),
    Field{"double.maxval", number, determined, "", most}.needed(),
    Field{"double.count", integer, determined, "", points}.from(1),
    Field{"log", mapping, determined, "", "a power of base, its exponent of a range"},
    Field{"log.type", string, determined, "", "the kind"}.one_of("log").needed(),
    Field{"log.minval", number, determined, "", "the smallest exponent that is tried"}.needed(),
    Field{"log.maxval", number, determined, "", "the largest exponent that is tried, above minval"}
        .needed(),
    Field{"log.base", number, determined, "", "what is raised to the exponent"}.above(0).needed(),
    Field{"log.count", integer, determined, "", points}.from(1),
    Field{"categorical", mapping, determined, "", "one value of a list"},
    Field{"categorical.type", string, determined, "", "the kind"}.one_of("categorical").needed(),
    Field{"categorical.vals", list, determined, "", "the values to choose from"}.needed(),
};

}  // namespace

std::span<const Field> searcher_fields() { return fields; }

const FieldTable& hyperparameter_fields() {
  static const FieldTable table(kinds_of_values);
  return table;
}

}  // namespace train
