// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "config_schema/fields/field_table.hpp"

namespace train {

namespace {

using enum FieldType;
using enum FieldSource;

constexpr std::int64_t most_brackets = 1000;
constexpr std::string_view a_bundle = "CPUs; counted, not enforced";

// These keys may be at the top of an experiment instead.
constexpr Field in_tune_config[] = {
    Field{"tune_config.num_samples", integer, ray, "1",
          "trials; with grid_search, how often the whole grid is taken"}
        .from(1)
        .to(most_workers),
    Field{"tune_config.max_concurrent_trials", integer, ray, "0",
          "how many trials run at once; 0: as many as fit"}
        .from(0),
    Field{"tune_config.metric", string, ray, "", "the metric by which trials are compared"},
    Field{"tune_config.mode", string, ray, "", "whether the larger or the smaller metric is better"}
        .one_of("min|max"),
    Field{"tune_config.time_budget_s", number, ray, "",
          "seconds, from the first start of a trial, after which all are stopped"}
        .above(0)
        .to(1'000'000'000),
    Field{"tune_config.scheduler", mapping, ray, "", "how trials are stopped that do badly"}
        .selected_by("type"),
    Field{"tune_config.scheduler.type", string, ray, "",
          "fifo: none is stopped; asha: asynchronous successive halving"}
        .one_of("fifo|asha")
        .gone_ones("async_hyperband=write asha|asynchyperband=write asha|"
                   "hyperband=write asha: all trials of a bracket would have to wait for one "
                   "another|median_stopping_rule=write asha|pbt=write asha: population based "
                   "training is not there|pb2=write asha: population based training is not there")
        .needed(),
    Field{"tune_config.scheduler.time_attr", string, ray, "training_iteration",
          "what counts time in reports; training_iteration: the number of a trial's reports"}
        .of("asha"),
    Field{"tune_config.scheduler.max_t", number, ray, "100", "a trial that has come so far is done"}
        .above(0)
        .of("asha"),
    Field{"tune_config.scheduler.grace_period", number, ray, "1",
          "no trial is stopped before it has come so far"}
        .above(0)
        .of("asha"),
    Field{"tune_config.scheduler.reduction_factor", number, ray, "4",
          "of the trials that are compared, one in so many goes on"}
        .above(1)
        .of("asha"),
    Field{"tune_config.scheduler.brackets", integer, ray, "1",
          "groups of trials that are compared later and later"}
        .from(1)
        .to(most_brackets)
        .of("asha"),
};

constexpr Field tuning_itself[] = {
    Field{"tune_config", mapping, ray, "", "the arguments of Ray's TuneConfig"},
    Field{"tune_config.search_alg", any, ray, "",
          "trials are drawn as param_space says: leave it out, or write a 'searcher'"}
        .forbidden(),
    Field{"tune_config.reuse_actors", boolean, ray, "false", "of Ray's processes"}.no_effect(),
    Field{"tune_config.trial_name_creator", any, ray, "", "trials have numbers: remove it"}
        .forbidden(),
    Field{"tune_config.trial_dirname_creator", any, ray, "", "trials have numbers: remove it"}
        .forbidden(),
    Field{"param_space", mapping, ray, "",
          "hyperparameters: plain values, groups, and what Ray Tune's words draw"}
        .read_apart(),
    Field{"param_space.*", any, ray, "",
          "a plain value, a group, or one of {uniform: [low, high]}, {loguniform: [low, high]}, "
          "{quniform: [low, high, step]}, {randint: [low, end]}, {normal: [mean, deviation]}, "
          "{choice: [...]}, {grid_search: [...]}"},
    Field{"resources_per_trial", mapping | list, ray, "",
          "what a trial takes: amounts for one process, or a list of them: the first are the "
          "trainer's, the others those of one worker each; default: 1 CPU"}
        .read_apart(),
    Field{"resources_per_trial.cpu", number, ray, "", a_bundle}.from(0).to(most_of_one),
    Field{"resources_per_trial.gpu", number, ray, "",
          "GPUs; below 1, trials share one; above 1 it must be whole"}
        .from(0)
        .to(most_of_one),
    Field{"resources_per_trial.CPU", number, ray, "", a_bundle}.from(0).to(most_of_one),
    Field{"resources_per_trial.GPU", number, ray, "", "GPUs"}.from(0).to(most_of_one),
    Field{"resources_per_trial.memory", bytes, ray, "",
          "bytes, or a size such as 16GiB; counted, not enforced"},
    Field{"resources_per_trial.bundles", list, ray, "", "such amounts, for a trial of several"},
    Field{"resources_per_trial.bundles[]", mapping, ray, "",
          "of the trainer, or of one worker; PlacementGroupFactory has them so"},
    Field{"resources_per_trial.bundles[].*", number | string, ray, "", "an amount"},
    Field{"resources_per_trial.strategy", string, ray, "PACK", "how the bundles are laid on hosts"}
        .one_of("PACK|SPREAD|STRICT_PACK|STRICT_SPREAD"),
    Field{"resources_per_trial.*", number, ray, "",
          "a resource of any other name, which hosts declare"}
        .from(0)
        .to(most_of_one),
    Field{"resources_per_trial[]", mapping, ray, "", "of the trainer, or of one worker"},
    Field{"resources_per_trial[].*", number | string, ray, "", "an amount"},
};

std::vector<Field> all_tune_fields() {
  constexpr std::size_t prefix = std::string_view("tune_config.").size();
  std::vector<Field> all(std::begin(tuning_itself), std::begin(tuning_itself) + 1);
  all.insert(all.end(), std::begin(in_tune_config), std::end(in_tune_config));
  for (const Field& field : in_tune_config)
    all.push_back(field.with(&Field::path, field.path.substr(prefix)).twin_of(field.path));
  all.insert(all.end(), std::begin(tuning_itself) + 1, std::end(tuning_itself));
  return all;
}

}  // namespace

std::span<const Field> tune_fields() {
  static const std::vector<Field> all = all_tune_fields();
  return all;
}

}  // namespace train
