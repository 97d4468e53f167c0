// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/workers.hpp"
#include "config_schema/fields/experiment_fields.hpp"

#include <fmt/format.h>

#include "config_schema/experiment/scaling_rules.hpp"
#include "config_schema/experiment/tpu_topology.hpp"
#include "config_schema/fields/amounts.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

// What the user said about workers, in either vocabulary.
struct Request {
  const GivenValue* slots = nullptr;    // slots_per_trial, -n
  const GivenValue* workers = nullptr;  // num_workers
  const GivenValue* amounts_given = nullptr;
  Amounts amounts;
  bool is_ray = false;  // num_workers or scaling_config, and no slots_per_trial
  bool use_gpu = false;
  bool use_tpu = false;
  Quantity tpus;  // chips of one worker
};

std::string path_of(const GivenValue& value) { return std::string(value.field->path); }

// All chips of its host when a topology says how many these are, else one (Ray's default).
Quantity chips_of(const FieldReader& fields, const Request& request) {
  if (!request.use_tpu) return Quantity();
  if (request.amounts.tpu) return request.amounts.tpu->quantity;
  const auto generation = tpu_generation(fields.text("scaling_config.accelerator_type"));
  const auto slice =
      generation ? tpu_slice(*generation, fields.text("scaling_config.topology")) : std::nullopt;
  return Quantity::of(slice ? slice->chips_per_host : 1);
}

Request read_request(const FieldReader& fields, Diagnostics& diagnostics) {
  Request request;
  request.slots = fields.given("resources.slots_per_trial");
  request.workers = fields.given("resources.num_workers");
  request.amounts_given = fields.given("resources.resources_per_worker");
  if (request.amounts_given)
    request.amounts =
        read_amounts(*request.amounts_given->node, path_of(*request.amounts_given), diagnostics);
  // A flag wins over what the file says of the other.
  if (request.slots && request.workers && request.slots->is_flag != request.workers->is_flag) {
    const bool takes_slots = !request.amounts.gpu || !request.amounts.gpu->quantity.is_zero();
    const bool is_worker_count =
        request.slots->is_flag &&
        !(fields.boolean("scaling_config.use_gpu") || (request.amounts.gpu && takes_slots));
    if (!request.slots->is_flag)
      request.slots = nullptr;
    else if (is_worker_count)
      request.workers = std::exchange(request.slots, nullptr);  // its workers take no slots
    else
      request.workers = nullptr;
  }
  request.is_ray = !request.slots && (request.workers || speaks_of_ray(fields));
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
                    to_string(amounts.gpu->quantity), said_where(amounts.gpu->place)),
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

// slots_per_trial / slots of a worker, which must come out whole. 0 after an error.
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
  const std::int64_t said = *request.workers->node->integer;
  if (said == workers) return;
  const auto& slots = *request.slots;
  diagnostics.error(
      request.workers->place, path_of(*request.workers),
      fmt::format("'{}' is {}, but '{}: {}' {} makes {} of {}", path_of(*request.workers), said,
                  path_of(slots), slots.node->text, said_where(slots.place),
                  counted(workers, "worker"), counted(to_string(each), "slot")),
      fmt::format("keep one of the two, or set {} in resources_per_worker",
                  request.use_tpu ? "TPU" : "GPU"));
}

}  // namespace

void read_workers(const FieldReader& fields, Diagnostics& diagnostics, ExperimentConfig& config) {
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
  }
  config.workers = static_cast<int>(std::max<std::int64_t>(workers, 1));
  config.counts_slots = !request.workers && !request.is_ray;
  // So that sums of slots stay far from what 64 bits hold.
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

}  // namespace train
