// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/scaling_needs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/experiment/tpu_topology.hpp"
#include "config_schema/fields/amounts.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

TrainerNeeds usual_trainer(bool is_usual) {
  TrainerNeeds trainer;
  trainer.cpus = Quantity::of(1);
  trainer.is_usual = is_usual;
  return trainer;
}

// Ray's ScalingConfig gives the trainer one CPU unless it is told otherwise.
void read_trainer(const FieldReader& fields, Diagnostics& diagnostics, TrainerNeeds& trainer) {
  const char* path = "scaling_config.trainer_resources";
  const GivenValue* given = fields.given(path);
  if (!given) {
    if (fields.wrote("scaling_config")) trainer = usual_trainer(true);
    return;
  }
  const Amounts amounts = read_amounts(*given->node, path, diagnostics);
  if (amounts.gpu) trainer.gpus = amounts.gpu->quantity;
  if (amounts.gpu && trainer.gpus > Quantity::of(1) && !trainer.gpus.is_whole())
    diagnostics.error(
        amounts.gpu->place, fmt::format("{}.GPU", path),
        fmt::format("'GPU: {}': above 1 it must be a whole number", to_string(trainer.gpus)));
  if (amounts.tpu && !amounts.tpu->quantity.is_zero())
    diagnostics.error(amounts.tpu->place, fmt::format("{}.TPU", path),
                      "the trainer of a TPU slice takes no chips of it", "remove TPU");
  if (amounts.cpu) trainer.cpus = amounts.cpu->quantity;
  trainer.memory = amounts.memory.value_or(0);
  for (const auto& [name, quantity] : amounts.custom)
    if (!quantity.is_zero()) trainer.custom[name] = quantity;
  trainer.is_usual = trainer == usual_trainer(false);
}

LabelSelector read_selector(const YamlNode& mapping, const std::string& path,
                            Diagnostics& diagnostics) {
  LabelSelector selector;
  for (const YamlEntry& entry : mapping.entries) {
    if (entry.value->kind != YamlKind::string) continue;  // an error already, or null
    const std::string key = fmt::format("{}.{}", path, entry.key);
    if (std::string trouble = label_name_trouble(entry.key); !trouble.empty())
      diagnostics.error(place_of(entry.mark), key, std::move(trouble));
    auto conditions = read_label_conditions(entry.key, entry.value->text);
    if (!conditions)
      diagnostics.error(value_place(entry), key, std::move(conditions.error()));
    else
      selector.insert(selector.end(), conditions->begin(), conditions->end());
  }
  return selector;
}

std::size_t count_different(const std::vector<LabelSelector>& selectors) {
  std::vector<const LabelSelector*> different;
  for (const LabelSelector& selector : selectors)
    if (std::none_of(different.begin(), different.end(),
                     [&](const LabelSelector* each) { return *each == selector; }))
      different.push_back(&selector);
  return different.size();
}

// A list has one for each worker.
void check_selector_count(const FieldReader& fields, const GivenValue& given, int workers,
                          Diagnostics& diagnostics) {
  if (given.node->kind != YamlKind::sequence) return;
  const std::size_t selectors = given.node->items.size();
  if (selectors == static_cast<std::size_t>(workers)) return;
  const GivenValue* count = fields.given("resources.num_workers");
  const bool is_said = count && count->node->integer == workers;
  diagnostics.error(given.place, std::string(given.field->path),
                    fmt::format("'label_selector' has {} for {}{}",
                                selectors == 1 ? "1 entry" : fmt::format("{} entries", selectors),
                                counted(workers, "worker"),
                                is_said ? fmt::format(" ('num_workers: {}' {})", workers,
                                                      said_where(count->place))
                                        : std::string()),
                    "write one for each worker, or one mapping for all");
}

std::vector<LabelSelector> read_selectors(const FieldReader& fields, int workers,
                                          Diagnostics& diagnostics) {
  const GivenValue* given = fields.given("scaling_config.label_selector");
  if (!given) return {};
  check_selector_count(fields, *given, workers, diagnostics);
  const std::string path(given->field->path);
  std::vector<LabelSelector> selectors;
  if (given->node->kind == YamlKind::mapping)
    selectors.push_back(read_selector(*given->node, path, diagnostics));
  for (std::size_t i = 0; i < given->node->items.size(); ++i)
    selectors.push_back(
        read_selector(*given->node->items[i], fmt::format("{}[{}]", path, i), diagnostics));
  constexpr std::size_t most_different = 64;
  const std::size_t different = count_different(selectors);
  if (different > most_different)
    diagnostics.error(
        given->place, path,
        fmt::format("{} different label selectors are more than {}", different, most_different),
        "give workers that may share hosts the same selector");
  if (different > 1)
    if (const GivenValue* trainer = fields.given("scaling_config.trainer_resources");
        trainer && !trainer->node->entries.empty())
      diagnostics.error(trainer->place, "scaling_config.trainer_resources",
                        "'trainer_resources' cannot be given with a list of label selectors",
                        "Ray deprecated it before there were any: remove it");
  return selectors;
}

// Whole slices, when a topology says what they look like. Ray's count comes first: workers that
// use every chip; else one worker on each host, with the chips it asks for.
std::optional<SliceNeeds> read_slices(const FieldReader& fields, const ExperimentConfig& config) {
  const GivenValue* topology = fields.given("scaling_config.topology");
  if (!topology || !config.needs.tpus_named) return std::nullopt;
  const auto generation = tpu_generation(config.needs.accelerator_type);
  const auto slice = generation ? tpu_slice(*generation, topology->node->text) : std::nullopt;
  const auto chips = static_cast<int>(config.needs.slots.whole());
  if (!slice || chips < 1 || config.workers % slice->hosts != 0) return std::nullopt;
  SliceNeeds needs{.slices = config.workers / slice->hosts,
                   .hosts = slice->hosts,
                   .chips_per_host = slice->chips_per_host,
                   .topology = topology->node->text};
  const int filling = slice->chips_per_host % chips == 0 ? slice->chips_per_host / chips : 1;
  if (config.workers % (slice->hosts * filling) == 0) {
    needs.workers_per_host = filling;
    needs.slices /= filling;
  }
  return needs;
}

// Points of a grid: each parameter's, multiplied.
std::optional<std::int64_t> grid_points(const std::vector<SearchedParameter>& searched) {
  std::int64_t points = 1;
  for (const SearchedParameter& parameter : searched)
    if (__builtin_mul_overflow(points, parameter.points, &points)) return std::nullopt;
  return points;
}

}  // namespace

void read_scaling_needs(const FieldReader& fields, Diagnostics& diagnostics,
                        ExperimentConfig& config) {
  read_trainer(fields, diagnostics, config.trainer);
  config.label_selectors = read_selectors(fields, config.workers, diagnostics);
  // No trainer is placed beside workers that select hosts of their own.
  if (config.trainer.is_usual && count_different(config.label_selectors) > 1) config.trainer = {};
  config.slices = read_slices(fields, config);
}

SearchSize read_search_size(const FieldReader& fields,
                            const std::vector<SearchedParameter>& searched,
                            const ExperimentConfig& config, Diagnostics& diagnostics) {
  SearchSize size;
  const std::string name = fields.text("searcher.name");
  if (name == "grid")
    size.trials = grid_points(searched);
  else if (name != "single")
    size.trials = fields.integer("searcher.max_trials");
  const auto most = fields.integer("searcher.max_concurrent_trials");
  // Determined's default; 0 stands for as many as fit.
  constexpr std::int64_t usually = 16;
  if (name != "single" && name != "custom" && most.value_or(usually) > 0)
    size.most_at_once = most.value_or(usually);
  size.most_slots = fields.integer("resources.max_slots");
  const GivenValue* limit = fields.given("resources.max_slots");
  if (limit && Quantity::of(*size.most_slots) < config.slots)
    diagnostics.error(limit->place, "resources.max_slots",
                      fmt::format("'max_slots' is {}, but one trial takes {}", *size.most_slots,
                                  counted(to_string(config.slots), "slot")),
                      "it limits all trials together: no trial could ever start");
  return size;
}

}  // namespace train
