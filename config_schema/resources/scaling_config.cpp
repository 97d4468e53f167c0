// SPDX-License-Identifier: Apache-2.0
#include "config_schema/resources/scaling_config.hpp"

#include <fmt/format.h>

#include "config_schema/resources/tpu_topology.hpp"
#include "config_schema/text/text.hpp"

namespace train {
namespace {

// A given value in messages: "'use_gpu: true' on line 3".
std::string quoted(const GivenValue& given) {
  return fmt::format("'{}: {}' {}", leaf_of(given.field->path), given.node->text,
                     line_or_flag(given.place));
}

class ScalingRules {
 public:
  ScalingRules(const FieldReader& fields, const Amounts& amounts, const GivenValue* amounts_given,
               Diagnostics& diagnostics)
      : fields_(fields),
        amounts_(amounts),
        amounts_given_(amounts_given),
        diagnostics_(diagnostics),
        accelerator_type_(fields.given("scaling_config.accelerator_type")),
        topology_(fields.given("scaling_config.topology")),
        selector_(fields.given("scaling_config.label_selector")),
        workers_(fields.given("resources.num_workers")) {}

  void check() {
    const GivenValue* use_gpu = fields_.given("scaling_config.use_gpu");
    const GivenValue* use_tpu = fields_.given("scaling_config.use_tpu");
    if (speaks_of_ray(fields_)) {
      check_use("GPU", use_gpu, amounts_.gpu);
      check_use("TPU", use_tpu, amounts_.tpu);
    }
    if (use_gpu && use_tpu && use_gpu->node->boolean && use_tpu->node->boolean)
      report(*use_tpu, fmt::format("'use_tpu: true' contradicts {}", quoted(*use_gpu)),
             "a worker has GPUs or TPU chips: remove one of the two");
    if (use_tpu && use_tpu->node->boolean)
      check_tpu(*use_tpu);
    else if (topology_)
      diagnostics_.warn(
          topology_->place, "scaling_config.topology",
          fmt::format("'{}' has no effect without 'use_tpu: true'", topology_->field->path));
    warn_of_trainer();
  }

 private:
  void report(const GivenValue& given, std::string message, std::string hint) {
    diagnostics_.error(given.place, std::string(given.field->path), std::move(message),
                       std::move(hint));
  }

  // Does not warn of a trainer without resources, or with its default of one CPU.
  void warn_of_trainer() {
    const GivenValue* trainer = fields_.given("scaling_config.trainer_resources");
    if (!trainer) return;
    for (const YamlEntry& entry : trainer->node->entries) {
      const bool is_nothing = entry.value->is_null() || entry.value->real == 0;
      if (is_nothing || (entry.key == "CPU" && entry.value->real == 1)) continue;
      return diagnostics_.warn(trainer->place, "scaling_config.trainer_resources",
                               "'trainer_resources' is deprecated by Ray");
    }
  }

  // Checks use_gpu against GPU, and use_tpu against TPU.
  void check_use(const char* name, const GivenValue* use, const std::optional<Amount>& amount) {
    if (!amount) return;
    const bool is_used = use && use->node->boolean;
    const std::string key = fmt::format("{}.{}", amounts_given_->field->path, name);
    const std::string use_name = "use_" + to_lower(name);
    if (is_used && amount->quantity.is_zero())
      diagnostics_.error(amount->place, key,
                         fmt::format("{} contradicts '{}: 0'", quoted(*use), name),
                         "remove one of the two");
    if (!is_used && !amount->quantity.is_zero())
      diagnostics_.error(
          amount->place, key,
          fmt::format("'{}: {}' needs '{}: true', but {} is {}", name, to_string(amount->quantity),
                      use_name, use_name,
                      use ? "false " + line_or_flag(use->place) : "absent, which is false"),
          fmt::format("write '{}: true'{}", use_name,
                      fields_.wrote("scaling_config") ? " in scaling_config" : ""));
  }

  void check_tpu(const GivenValue& use_tpu) {
    const std::int64_t workers = workers_ && workers_->node->integer ? *workers_->node->integer : 1;
    if (workers > 1) {
      if (!topology_) report_needed(use_tpu, "topology", "such as 'topology: 4x4'");
      if (!accelerator_type_)
        report_needed(use_tpu, "accelerator_type", "such as 'accelerator_type: TPU-V6E'");
      if (selector_)
        report(*selector_,
               fmt::format("'label_selector' cannot be given with {} and {}", quoted(use_tpu),
                           quoted(*workers_)),
               "the workers of a slice are placed by its topology: remove label_selector");
    }
    check_chips();
    check_slice(workers);
  }

  void report_needed(const GivenValue& use_tpu, const char* key, const char* hint) {
    diagnostics_.error(
        use_tpu.place, fmt::format("scaling_config.{}", key),
        fmt::format("'use_tpu: true' with {} needs '{}'", quoted(*workers_), key),
        fmt::format("write it {}, {}",
                    fields_.wrote("scaling_config") ? "in scaling_config" : "beside it", hint));
  }

  void check_chips() {
    if (!amounts_.tpu || amounts_.tpu->quantity.is_zero()) return;
    const Quantity chips = amounts_.tpu->quantity;
    for (const int fine : {1, 2, 4, 8})
      if (chips == Quantity::of(fine)) return;
    diagnostics_.error(
        amounts_.tpu->place, fmt::format("{}.TPU", amounts_given_->field->path),
        fmt::format("'TPU: {}': a worker takes 1, 2, 4 or 8 chips", to_string(chips)), "");
  }

  void check_slice(std::int64_t workers) {
    if (!accelerator_type_) return;
    const std::string& type = accelerator_type_->node->text;
    const auto generation = tpu_generation(type);
    if (!generation)
      return report(*accelerator_type_,
                    fmt::format("'accelerator_type: {}' is no TPU, but use_tpu is true", type),
                    fmt::format("write TPU- and one of {}", join_words(tpu_generations(), "or")));
    if (!topology_) return;
    const std::string& shape = topology_->node->text;
    const auto slice = tpu_slice(*generation, shape);
    if (!slice)
      return report(*topology_,
                    fmt::format("'{}' is no topology of {}", shape, quoted(*accelerator_type_)),
                    fmt::format("its shapes are {}", tpu_shapes(*generation)));
    if (amounts_.tpu && amounts_.tpu->quantity > Quantity::of(slice->chips_per_host))
      diagnostics_.error(
          amounts_.tpu->place, fmt::format("{}.TPU", amounts_given_->field->path),
          fmt::format("'TPU: {}': a host of {} has {}", to_string(amounts_.tpu->quantity),
                      quoted(*topology_), counted(slice->chips_per_host, "chip")),
          "a worker has one host");
    if (workers % slice->hosts == 0) return;
    if (!workers_)
      return report(*topology_,
                    fmt::format("a slice of '{}' has {}, and 'num_workers' is absent, which is 1",
                                shape, counted(slice->hosts, "host")),
                    fmt::format("write 'num_workers: {}', or a multiple of it", slice->hosts));
    const std::int64_t below = workers - workers % slice->hosts;
    report(*workers_,
           fmt::format("'num_workers' is {}, but a slice of {} has {}", workers, quoted(*topology_),
                       counted(slice->hosts, "host")),
           below > 0 ? fmt::format("it must be a multiple: {} or {}", below, below + slice->hosts)
                     : fmt::format("it must be a multiple of {}", slice->hosts));
  }

  const FieldReader& fields_;
  const Amounts& amounts_;
  const GivenValue* amounts_given_;
  Diagnostics& diagnostics_;
  const GivenValue* accelerator_type_;
  const GivenValue* topology_;
  const GivenValue* selector_;
  const GivenValue* workers_;
};

}  // namespace

bool speaks_of_ray(const FieldReader& fields) {
  return fields.wrote("scaling_config") || fields.given("scaling_config.use_gpu") ||
         fields.given("scaling_config.use_tpu");
}

void check_scaling_config(const FieldReader& fields, const Amounts& amounts,
                          const GivenValue* amounts_given, Diagnostics& diagnostics) {
  ScalingRules(fields, amounts, amounts_given, diagnostics).check();
}

}  // namespace train
