// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/workers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/experiment/experiment_search.hpp"
#include "config_schema/experiment/trial_resources.hpp"
#include "config_schema/fields/amounts.hpp"
#include "config_schema/fields/field_table.hpp"
#include "config_schema/resources/scaling_config.hpp"
#include "config_schema/resources/tpu_topology.hpp"
#include "config_schema/text/text.hpp"

namespace train {
namespace {

// The user's keys about workers, in Determined's or in Ray's form.
struct Request {
  const GivenValue* slots = nullptr;    // slots_per_trial, -n
  const GivenValue* workers = nullptr;  // num_workers
  const GivenValue* amounts_given = nullptr;
  std::optional<TrialResources> of_trial;  // resources_per_trial
  Amounts amounts;
  bool is_ray = false;  // num_workers or scaling_config, and no slots_per_trial
  bool use_gpu = false;
  bool use_tpu = false;
  Quantity tpus;  // chips of one worker
};

std::string path_of(const GivenValue& value) { return std::string(value.field->path); }

// All chips of its host if a topology gives their number, else one (Ray's default).
Quantity chips_of(const FieldReader& fields, const Request& request) {
  if (!request.use_tpu) return Quantity();
  if (request.amounts.tpu) return request.amounts.tpu->quantity;
  const auto generation = tpu_generation(fields.text("scaling_config.accelerator_type"));
  const auto slice =
      generation ? tpu_slice(*generation, fields.text("scaling_config.topology")) : std::nullopt;
  return Quantity::of(slice ? slice->chips_per_host : 1);
}

// Refuses keys that also say what a trial takes.
void check_alone(const FieldReader& fields, const GivenValue& of_trial, Diagnostics& diagnostics) {
  for (const char* key : {"resources.slots_per_trial", "resources.num_workers",
                          "resources.resources_per_worker", "scaling_config"})
    if (const GivenValue* other = fields.given(key))
      diagnostics.error(of_trial.place, "resources_per_trial",
                        fmt::format("'resources_per_trial' cannot be given with '{}' {}",
                                    other->field->path, line_or_flag(other->place)),
                        "both say what a trial takes: keep one of them");
}

Request read_request(const FieldReader& fields, Diagnostics& diagnostics) {
  Request request;
  request.slots = fields.given("resources.slots_per_trial");
  request.workers = fields.given("resources.num_workers");
  request.amounts_given = fields.given("resources.resources_per_worker");
  if (request.amounts_given)
    request.amounts =
        read_amounts(*request.amounts_given->node, path_of(*request.amounts_given), diagnostics);
  request.of_trial = read_trial_resources(fields, diagnostics);
  if (request.of_trial) {
    request.amounts_given = request.of_trial->given;
    request.amounts = request.of_trial->worker;
    check_alone(fields, *request.of_trial->given, diagnostics);
  }
  // A flag overrides the other key in the file.
  if (request.slots && request.workers && request.slots->is_flag != request.workers->is_flag) {
    const bool takes_slots = !request.amounts.gpu || !request.amounts.gpu->quantity.is_zero();
    const bool is_worker_count =
        request.slots->is_flag &&
        !(fields.boolean("scaling_config.use_gpu") || (request.amounts.gpu && takes_slots));
    if (!request.slots->is_flag)
      request.slots = nullptr;
    else if (is_worker_count)
      request.workers = std::exchange(request.slots, nullptr);  // -n counts workers without slots
    else
      request.workers = nullptr;
  }
  request.is_ray = !request.slots && (request.workers || request.of_trial ||
                                      speaks_of_ray(fields) || speaks_of_tune(fields));
  request.use_gpu = fields.boolean("scaling_config.use_gpu");
  request.use_tpu = fields.boolean("scaling_config.use_tpu") ||
                    (request.amounts.tpu && !request.amounts.tpu->quantity.is_zero());
  request.tpus = chips_of(fields, request);
  return request;
}

void check_amounts(const Request& request, Diagnostics& diagnostics) {
  const Amounts& amounts = request.amounts;
  const bool takes_gpus = amounts.gpu && !amounts.gpu->quantity.is_zero();
  if (takes_gpus && amounts.tpu && request.use_tpu && !request.use_gpu)
    diagnostics.error(
        amounts.tpu->place, path_of(*request.amounts_given) + ".TPU",
        fmt::format("'TPU: {}' cannot be given with 'GPU: {}' {}", to_string(amounts.tpu->quantity),
                    to_string(amounts.gpu->quantity), line_or_flag(amounts.gpu->place)),
        "a host has accelerators of one kind: remove one of the two");
  if (!amounts.gpu) return;
  const Quantity gpus = amounts.gpu->quantity;
  if (gpus > Quantity::of(1) && !gpus.is_whole())
    diagnostics.error(amounts.gpu->place, path_of(*request.amounts_given) + ".GPU",
                      fmt::format("'GPU: {}': above 1 it must be a whole number", to_string(gpus)),
                      fmt::format("write {} or {}", gpus.whole(), gpus.whole() + 1));
}

WorkerNeeds needs_of(const FieldReader& fields, const Request& request) {
  WorkerNeeds needs;
  const Amounts& amounts = request.amounts;
  needs.memory = amounts.memory;
  needs.custom = amounts.custom;
  needs.accelerator_type =
      canonical_accelerator_type(fields.text("scaling_config.accelerator_type"));
  const bool is_cpu_only = request.slots && request.slots->node->integer == 0;
  if (request.use_tpu) {
    needs.slots = request.tpus;
  } else if (amounts.gpu) {
    needs.slots = amounts.gpu->quantity;
  } else if (request.use_gpu || (!request.is_ray && !is_cpu_only)) {
    needs.slots = Quantity::of(1);
  }
  needs.gpus_named = request.use_gpu || (amounts.gpu && !amounts.gpu->quantity.is_zero());
  needs.tpus_named = request.use_tpu && !request.tpus.is_zero();
  needs.cpus_named = amounts.cpu.has_value();
  if (amounts.cpu)
    needs.cpus = amounts.cpu->quantity;
  else if (request.is_ray && !request.amounts_given && !request.use_gpu && !request.use_tpu)
    needs.cpus = Quantity::of(1);
  return needs;
}

// slots_per_trial / slots of a worker, which must be a whole number. 0 after an error.
std::int64_t workers_of_slots(const GivenValue& slots, const WorkerNeeds& needs,
                              Diagnostics& diagnostics) {
  const Quantity each = needs.slots;
  const char* leaf = needs.tpus_named ? "TPU" : "GPU";
  const std::string device = needs.tpus_named ? "TPU chip" : "GPU";
  const std::int64_t count = *slots.node->integer;
  const std::string path = path_of(slots);
  if (count == 0 && each.is_zero()) return 1;
  if (count == 0 || each.is_zero()) {
    diagnostics.error(slots.place, path,
                      fmt::format("'{}' is {}, but each worker takes {}", path, count,
                                  counted(to_string(each), device)),
                      count == 0
                          ? fmt::format("remove {}, or give the trial slots", leaf)
                          : fmt::format("write num_workers for workers without {}s", device));
    return 0;
  }
  const std::int64_t parts = Quantity::of(count).parts();
  const std::int64_t workers = parts / each.parts();
  if (parts % each.parts() == 0 && workers <= most_workers) return workers;
  diagnostics.error(slots.place, path,
                    fmt::format("{} cannot be shared out to workers of {} each",
                                counted(count, "slot"), counted(to_string(each), device)),
                    workers > most_workers
                        ? fmt::format("at most {} workers are possible", most_workers)
                        : fmt::format("the number of slots must be a multiple of {}", leaf));
  return 0;
}

void check_agreement(const Request& request, std::int64_t workers, Quantity each,
                     Diagnostics& diagnostics) {
  const std::int64_t given = *request.workers->node->integer;
  if (given == workers) return;
  const auto& slots = *request.slots;
  diagnostics.error(
      request.workers->place, path_of(*request.workers),
      fmt::format("'{}' is {}, but '{}: {}' {} makes {} of {}", path_of(*request.workers), given,
                  path_of(slots), slots.node->text, line_or_flag(slots.place),
                  counted(workers, "worker"), counted(to_string(each), "slot")),
      fmt::format("keep one of the two, or set {} in resources_per_worker",
                  request.use_tpu ? "TPU" : "GPU"));
}

void fill_trainer(const Amounts& amounts, const std::string& path, Diagnostics& diagnostics,
                  TrainerNeeds& trainer) {
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
}

}  // namespace

void read_workers(const FieldReader& fields, int default_workers, Diagnostics& diagnostics,
                  ExperimentConfig& config) {
  const Request request = read_request(fields, diagnostics);
  check_scaling_config(fields, request.amounts, request.amounts_given, diagnostics);
  check_amounts(request, diagnostics);
  config.needs = needs_of(fields, request);
  const Quantity each = config.needs.slots;
  std::int64_t workers = 1;
  if (request.slots) {
    workers = workers_of_slots(*request.slots, config.needs, diagnostics);
    const bool is_cpu_only = each.is_zero() && request.workers;
    if (workers > 0 && is_cpu_only)
      workers = *request.workers->node->integer;
    else if (workers > 0 && request.workers)
      check_agreement(request, workers, each, diagnostics);
  } else if (request.workers) {
    workers = *request.workers->node->integer;
  } else if (request.of_trial) {
    workers = request.of_trial->workers;
    if (request.of_trial->placement) config.placement = *request.of_trial->placement;
    if (request.of_trial->trainer)
      fill_trainer(*request.of_trial->trainer, "resources_per_trial[0]", diagnostics,
                   config.trainer);
  } else if (!request.is_ray && !fields.wrote("searcher")) {
    workers = default_workers;
  }
  config.workers = static_cast<int>(std::max<std::int64_t>(workers, 1));
  config.counts_slots = !request.workers && !request.is_ray;
  // Keeps sums of slots far below the limits of 64 bits.
  constexpr std::int64_t most_slots = 1'000'000'000;
  if (each > Quantity::of(most_slots / config.workers)) {
    const Place place = request.amounts_given ? request.amounts_given->place : Place{};
    diagnostics.error(
        place, request.amounts_given ? path_of(*request.amounts_given) : "",
        fmt::format("{} of {} are more than {} in all", counted(config.workers, "worker"),
                    counted(to_string(each), config.needs.tpus_named ? "TPU chip" : "GPU"),
                    most_slots));
    return;
  }
  config.slots = each * config.workers;
}

namespace {

TrainerNeeds usual_trainer(bool is_default) {
  TrainerNeeds trainer;
  trainer.cpus = Quantity::of(1);
  trainer.is_default = is_default;
  return trainer;
}

// Ray's ScalingConfig gives the trainer one CPU by default.
void read_trainer(const FieldReader& fields, Diagnostics& diagnostics, TrainerNeeds& trainer) {
  const char* path = "scaling_config.trainer_resources";
  const GivenValue* given = fields.given(path);
  if (!given) {
    if (fields.wrote("scaling_config")) trainer = usual_trainer(true);
    return;
  }
  fill_trainer(read_amounts(*given->node, path, diagnostics), path, diagnostics, trainer);
  trainer.is_default = trainer == usual_trainer(false);
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

// A list must have one selector for each worker.
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
                                                      line_or_flag(count->place))
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

// Whole slices, if a topology gives their shape. Ray's worker count comes first: workers that
// together use every chip; else one worker on each host, with the chips that it requests.
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

}  // namespace

void read_scaling_needs(const FieldReader& fields, Diagnostics& diagnostics,
                        ExperimentConfig& config) {
  read_trainer(fields, diagnostics, config.trainer);
  config.label_selectors = read_selectors(fields, config.workers, diagnostics);
  // No default trainer beside workers with different label selectors.
  if (config.trainer.is_default && count_different(config.label_selectors) > 1) config.trainer = {};
  config.slices = read_slices(fields, config);
}

void read_least_workers(const FieldReader& fields, bool may_have_more, Diagnostics& diagnostics,
                        ExperimentConfig& config) {
  const char* path = "min_slots_per_trial";
  const GivenValue* given = fields.given(path);
  if (!given) return;
  const std::int64_t least = fields.integer(path).value_or(1);
  const bool counts_workers = config.needs.slots.is_zero();
  const Quantity all = counts_workers ? Quantity::of(config.workers) : config.slots;
  const std::string of_trial = counted(to_string(all), counts_workers ? "worker" : "slot");
  const bool is_number_given =
      fields.given("resources.slots_per_trial") || fields.given("resources.num_workers");
  if (Quantity::of(least) > all && may_have_more && !is_number_given) return;
  if (Quantity::of(least) > all)
    return diagnostics.error(given->place, path,
                             fmt::format("'{}' is {}, but the trial has {}", path, least, of_trial),
                             "it is how far a trial of more slots may shrink");
  std::string_view kind;
  if (config.search_config) kind = "each trial of a search has as many as the others";
  if (config.slices) kind = "TPU slices are used as a whole";
  if (count_different(config.label_selectors) > 1)
    kind = "each worker has a label selector of its own";
  if (!kind.empty())
    return diagnostics.error(given->place, path, fmt::format("the trial cannot shrink: {}", kind),
                             "remove the key");
  const std::int64_t parts = config.needs.slots.parts();
  const std::int64_t workers =
      counts_workers ? least : (Quantity::of(least).parts() + parts - 1) / parts;
  if (workers < config.workers) config.least_workers = static_cast<int>(workers);
}

}  // namespace train
