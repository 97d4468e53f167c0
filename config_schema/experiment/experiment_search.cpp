// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

AdaptiveMode mode_of(const std::string& word) {
  if (word == "aggressive") return AdaptiveMode::aggressive;
  return word == "conservative" ? AdaptiveMode::conservative : AdaptiveMode::standard;
}

// Reads `max_time` in units of `time_metric`; without it `max_length` in its own unit, or in that
// of `time_metric`, or else in the reports' own step.
void read_length(const FieldReader& fields, Diagnostics& diagnostics, SearchConfig& search) {
  search.time_metric = fields.text("searcher.time_metric");
  if (const auto time = fields.integer("searcher.max_time")) {
    search.settings.length = *time;
    return;
  }
  for (const char* unit : {"batches", "records", "epochs"})
    if (const auto length = fields.integer(fmt::format("searcher.max_length.{}", unit))) {
      search.settings.length = *length;
      search.time_metric = unit;
    }
  const GivenValue* bare = fields.given("searcher.max_length");
  if (!bare || !bare->node->integer) return;
  search.settings.length = *bare->node->integer;
  if (search.settings.halves() && search.settings.length < 1)
    diagnostics.error(bare->place, "searcher.max_length",
                      "'searcher.max_length' is 0: no trial would train",
                      "write how long the best ones train");
}

void read_halving(const FieldReader& fields, SearchSettings& settings) {
  settings.divisor = fields.number("searcher.divisor").value_or(settings.divisor);
  settings.num_rungs = static_cast<int>(fields.integer("searcher.num_rungs").value_or(0));
  const auto most = fields.integer("searcher.max_rungs");
  settings.max_rungs = static_cast<int>(most.value_or(settings.max_rungs));
  settings.mode = mode_of(fields.text("searcher.mode"));
  if (const GivenValue* rungs = fields.given("searcher.bracket_rungs"))
    for (const YamlNodePtr& item : rungs->node->items)
      settings.bracket_rungs.push_back(static_cast<int>(item->integer.value_or(1)));
}

std::optional<SearchConfig> read_determined(const FieldReader& fields,
                                            const Hyperparameters& hyperparameters,
                                            Diagnostics& diagnostics) {
  const auto method = searcher_method(fields.text("searcher.name"));
  const bool is_one_plain_trial = method == SearchMethod::single &&
                                  hyperparameters.searched.empty() &&
                                  !fields.given("reproducibility.experiment_seed");
  if (!method || is_one_plain_trial) return std::nullopt;
  SearchConfig search;
  search.metric = fields.text("searcher.metric");
  SearchSettings& settings = search.settings;
  settings.method = *method;
  settings.smaller_is_better = fields.boolean("searcher.smaller_is_better");
  settings.max_trials = fields.integer("searcher.max_trials").value_or(1);
  settings.max_concurrent_trials =
      fields.integer("searcher.max_concurrent_trials").value_or(settings.most_at_once());
  if (settings.halves()) {
    read_length(fields, diagnostics, search);
    read_halving(fields, settings);
  } else if (const GivenValue* length = fields.given("searcher.max_length")) {
    diagnostics.note_idle(length->place, "searcher.max_length");
  }
  return search;
}

constexpr const char* tune_keys[] = {"tune_config",
                                     "tune_config.num_samples",
                                     "tune_config.max_concurrent_trials",
                                     "tune_config.metric",
                                     "tune_config.mode",
                                     "tune_config.time_budget_s",
                                     "tune_config.scheduler",
                                     "param_space"};

class TuneReader {
 public:
  TuneReader(const FieldReader& fields, Diagnostics& diagnostics)
      : fields_(fields), diagnostics_(diagnostics) {}

  SearchConfig read() {
    check_words();
    SearchConfig search;
    search.metric = fields_.text("tune_config.metric");
    SearchSettings& settings = search.settings;
    settings.method = SearchMethod::tune;
    settings.smaller_is_better = fields_.text("tune_config.mode") != "max";
    settings.num_samples = fields_.integer("tune_config.num_samples").value_or(1);
    settings.max_concurrent_trials =
        fields_.integer("tune_config.max_concurrent_trials").value_or(0);
    if (const auto budget = fields_.number("tune_config.time_budget_s"))
      search.time_budget =
          std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(*budget * 1'000)));
    if (fields_.text("tune_config.scheduler.type") == "asha") read_asha(search);
    return search;
  }

 private:
  void check_words() {
    const GivenValue* metric = fields_.given("tune_config.metric");
    const GivenValue* mode = fields_.given("tune_config.mode");
    if (metric && !mode)
      report(*metric, fmt::format("'{}' needs 'mode'", metric->field->path),
             "write 'mode: min' or 'mode: max'");
    if (mode && !metric)
      report(*mode, fmt::format("'{}' needs 'metric'", mode->field->path),
             "write 'metric: loss', for example");
    const GivenValue* searcher = fields_.given("searcher");
    for (const char* key : tune_keys) {
      const GivenValue* word = searcher ? fields_.given(key) : nullptr;
      if (!word) continue;
      return report(
          *word,
          fmt::format("'{}' is a word of Ray Tune's, and 'searcher' {} one of Determined's",
                      word->field->path, line_or_flag(searcher->place)),
          "keep one of the two");
    }
  }

  void read_asha(SearchConfig& search) {
    const GivenValue* scheduler = fields_.given("tune_config.scheduler");
    if (scheduler && !fields_.given("tune_config.metric"))
      report(*scheduler,
             fmt::format("'{}: {{type: asha}}' needs 'metric' and 'mode'", scheduler->field->path),
             "write 'metric: loss' and 'mode: min', for example");
    TuneAshaSettings asha;
    const auto number = [&](const char* name, double usual) {
      return fields_.number(fmt::format("tune_config.scheduler.{}", name)).value_or(usual);
    };
    asha.max_t = number("max_t", asha.max_t);
    asha.grace_period = number("grace_period", asha.grace_period);
    asha.reduction_factor = number("reduction_factor", asha.reduction_factor);
    asha.brackets = static_cast<int>(fields_.integer("tune_config.scheduler.brackets").value_or(1));
    search.time_metric = fields_.text("tune_config.scheduler.time_attr");
    search.settings.tune_asha = asha;
    const auto checked = check_settings(search.settings);
    if (!checked && scheduler) report(*scheduler, checked.error().diagnostics.front().message, {});
  }

  void report(const GivenValue& given, std::string message, std::string hint) {
    diagnostics_.error(given.place, std::string(given.field->path), std::move(message),
                       std::move(hint));
  }

  const FieldReader& fields_;
  Diagnostics& diagnostics_;
};

std::optional<std::int64_t> product(std::optional<std::int64_t> a, std::int64_t b) {
  std::int64_t both = 0;
  if (!a || __builtin_mul_overflow(*a, b, &both)) return std::nullopt;
  return both;
}

// If the batch size is searched, every batch must have a sample for each worker.
void check_drawn_batch(const Hyperparameters& hyperparameters, int workers,
                       Diagnostics& diagnostics) {
  const auto drawn = std::find_if(hyperparameters.searched.begin(), hyperparameters.searched.end(),
                                  [](const SearchedParameter& each) {
                                    return each.path == "hyperparameters.global_batch_size" ||
                                           each.path == "param_space.global_batch_size";
                                  });
  const auto batch = hyperparameters.space.find("global_batch_size");
  if (drawn == hyperparameters.searched.end() || batch == hyperparameters.space.end()) return;
  const auto complain = [&](const std::string& what) {
    diagnostics.error(drawn->place, drawn->path, fmt::format("'{}' {}", drawn->path, what),
                      fmt::format("all its values must be whole numbers of at least {}", workers));
  };
  const auto check = [&](const std::string& value) {
    const YamlNode number = resolve_plain_scalar(value);
    if (!number.integer || *number.integer < workers)
      complain(fmt::format("may be {}, where there {}", value,
                           workers == 1 ? "is 1 worker" : fmt::format("are {} workers", workers)));
    return number.integer && *number.integer >= workers;
  };
  if (const auto* range = std::get_if<parameter::WholeRange>(&batch->second.kind)) {
    check(fmt::format("{}", range->low));
  } else if (const auto* choice = std::get_if<parameter::Choice>(&batch->second.kind)) {
    (void)std::all_of(choice->values.begin(), choice->values.end(), check);
  } else if (const auto* grid = std::get_if<parameter::GridSearch>(&batch->second.kind)) {
    (void)std::all_of(grid->values.begin(), grid->values.end(), check);
  } else {
    complain(fmt::format("is of type {}, and a batch has a whole number of samples", drawn->type));
  }
}

// Warns of many identical trials, which are hardly intended.
void check_draws(const FieldReader& fields, const Hyperparameters& hyperparameters,
                 const ExperimentConfig& config, Diagnostics& diagnostics) {
  const GivenValue* count = fields.given("searcher.max_trials");
  if (!count) count = fields.given("tune_config.num_samples");
  if (count && config.search.trials.value_or(2) > 1 && hyperparameters.searched.empty())
    diagnostics.warn(count->place, std::string(count->field->path),
                     fmt::format("'{}': no hyperparameter has a range, so that the trials differ "
                                 "in their seeds alone",
                                 count->field->path));
}

// Nothing: more than can be counted.
std::optional<std::int64_t> trials_of(const SearchConfig& search) {
  switch (search.settings.method) {
    case SearchMethod::single:
      return 1;
    case SearchMethod::grid:
      return grid_points(search.space);
    case SearchMethod::tune:
      return product(tune_points(search.space), search.settings.num_samples);
    default:
      return search.settings.max_trials;
  }
}

}  // namespace

bool speaks_of_tune(const FieldReader& fields) {
  return std::any_of(std::begin(tune_keys), std::end(tune_keys),
                     [&](const char* key) { return fields.given(key) != nullptr; });
}

void read_search(const FieldReader& fields, Hyperparameters& hyperparameters,
                 Diagnostics& diagnostics, ExperimentConfig& config) {
  config.searcher = fields.text("searcher.name");
  const GivenValue* space = fields.given("param_space");
  if (space && fields.given("hyperparameters"))
    diagnostics.error(space->place, "param_space",
                      "'param_space' and 'hyperparameters' are two names for the same",
                      "keep one of the two");
  const bool is_tune = speaks_of_tune(fields);
  if (space) hyperparameters = read_param_space(*space->node, diagnostics);
  if (space) check_for_json(*hyperparameters.plain, "param_space", diagnostics);
  for (const SearchedParameter& each : hyperparameters.searched)
    config.searched.push_back(each.path);
  if (is_tune)
    config.search_config = TuneReader(fields, diagnostics).read();
  else
    config.search_config = read_determined(fields, hyperparameters, diagnostics);
  if (is_tune) config.searcher = to_string(SearchMethod::tune);
  config.search.most_slots = fields.integer("resources.max_slots");
  config.search.trials =
      config.searcher == "custom" ? std::nullopt : std::optional<std::int64_t>(1);
  if (config.search_config) {
    SearchConfig& search = *config.search_config;
    search.space = hyperparameters.space;
    check_drawn_batch(hyperparameters, config.workers, diagnostics);
    search.settings.seed =
        static_cast<std::uint32_t>(fields.integer("reproducibility.experiment_seed").value_or(0));
    config.search.trials = trials_of(search);
    config.search.ends_early =
        search.time_budget || search.settings.halves() || search.settings.tune_asha;
    check_draws(fields, hyperparameters, config, diagnostics);
    if (search.settings.method != SearchMethod::single && search.settings.most_at_once() > 0)
      config.search.most_at_once = search.settings.most_at_once();
  }
  const GivenValue* limit = fields.given("resources.max_slots");
  if (limit && Quantity::of(*config.search.most_slots) < config.slots)
    diagnostics.error(
        limit->place, "resources.max_slots",
        fmt::format("'max_slots' is {}, but one trial takes {}", *config.search.most_slots,
                    counted(to_string(config.slots), "slot")),
        "it limits all trials together: no trial could ever start");
}

}  // namespace train
