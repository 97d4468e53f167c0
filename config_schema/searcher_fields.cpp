// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment_fields.hpp"

namespace train {

namespace {

using enum FieldType;
constexpr FieldSource determined = FieldSource::determined;

constexpr std::string_view asha = "adaptive_asha|async_halving";
constexpr std::string_view several = "random|grid|adaptive_asha|async_halving";
constexpr std::string_view counted = "random|adaptive_asha|async_halving";
constexpr std::string_view all_but_custom = "single|random|grid|adaptive_asha|async_halving";

constexpr Field fields[] = {
    Field{"searcher", mapping, determined, "", "how hyperparameters are chosen"}
        .selected_by("name")
        .open_to("custom"),
    Field{"searcher.name", string, determined, "single", "the method"}
        .one_of("single")
        .later_ones("random|grid|adaptive_asha|async_halving|custom")
        .gone_ones("adaptive=write adaptive_asha, with max_trials in place of budget|"
                   "adaptive_simple=write adaptive_asha: its keys are the same|"
                   "sync_halving=write adaptive_asha, with max_trials in place of budget|"
                   "pbt=write random or adaptive_asha: population based training is gone")
        .needed(),
    Field{"searcher.metric", string, determined, "", "the metric that is compared"}
        .for_people()
        .needed(several),
    Field{"searcher.smaller_is_better", boolean, determined, "true", "how it is compared"}
        .for_people(),
    Field{"searcher.max_length", integer | mapping, determined, "", "how long a trial trains"}
        .from(0)
        .of(all_but_custom)
        .one_key()
        .no_effect(),
    Field{"searcher.max_length.batches", integer, determined, "", "in batches"}.from(1),
    Field{"searcher.max_length.records", integer, determined, "", "in samples"}.from(1),
    Field{"searcher.max_length.epochs", integer, determined, "", "in epochs"}.from(1),
    Field{"searcher.max_time", integer, determined, "", "how long a trial trains, in time_metric"}
        .from(1)
        .of(asha)
        .no_effect(),
    Field{"searcher.time_metric", string, determined, "", "the metric that counts time"}
        .of(asha)
        .no_effect(),
    Field{"searcher.max_trials", integer, determined, "", "how many trials run in all"}
        .from(1)
        .of(counted)
        .needed(counted),
    Field{"searcher.max_concurrent_trials", integer, determined, "16",
          "how many trials run at once; 0: as many as fit"}
        .from(0)
        .of(several),
    Field{"searcher.mode", string, determined, "standard", "how early trials are stopped"}
        .one_of("aggressive|standard|conservative")
        .of("adaptive_asha"),
    Field{"searcher.divisor", number, determined, "4",
          "the share of trials that go on is 1/divisor"}
        .above(1)
        .of(asha),
    Field{"searcher.max_rungs", integer, determined, "5", "how often trials are compared"}
        .from(1)
        .of("adaptive_asha"),
    Field{"searcher.bracket_rungs", list, determined, "[]", "the rungs of each bracket"}.of(
        "adaptive_asha"),
    Field{"searcher.bracket_rungs[]", integer, determined, "", "rungs of one bracket"},
    Field{"searcher.num_rungs", integer, determined, "", "how often trials are compared"}
        .from(1)
        .of("async_halving")
        .needed("async_halving"),
    Field{"searcher.stop_once", boolean, determined, "false",
          "trials are compared once, and stopped or run to the end"}
        .of(asha),
    Field{"searcher.unit", string, determined, "", "the unit of lengths"}
        .one_of("batches|records|epochs")
        .of("custom"),
    Field{"searcher.source_trial_id", integer, determined, "", "where weights come from"}
        .no_effect(),
    Field{"searcher.source_checkpoint_uuid", string, determined, "", "where weights come from"}
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

}  // namespace

std::span<const Field> searcher_fields() { return fields; }

}  // namespace train
