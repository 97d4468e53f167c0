// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_rules.hpp"

#include <fmt/format.h>

#include <map>

#include "config_schema/text/text.hpp"

namespace train {
namespace {

class Rules {
 public:
  Rules(const FieldReader& fields, Diagnostics& diagnostics)
      : fields_(fields), diagnostics_(diagnostics) {}

  void check_epochs() {
    const GivenValue* records = fields_.given("records_per_epoch");
    if (records && records->node->real > 0) return;
    for (const char* path : {"min_validation_period.epochs", "min_checkpoint_period.epochs"}) {
      const GivenValue* epochs = fields_.given(path);
      if (!epochs) continue;
      diagnostics_.warn(
          epochs->place, path,
          records ? fmt::format("'{}' counts by 'records_per_epoch', which is {} {}", path,
                                records->node->text, line_or_flag(records->place))
                  : fmt::format("'{}' counts by 'records_per_epoch', which is missing", path));
    }
  }

  void check_grid(const Hyperparameters& hyperparameters) {
    const GivenValue* name = fields_.given("searcher.name");
    if (!name || name->node->text != "grid") return;
    if (hyperparameters.space.empty() && hyperparameters.searched.empty())
      report(*name, "a grid search without 'hyperparameters' has no trial",
             "write the values to try, or 'name: single'");
    for (const SearchedParameter& parameter : hyperparameters.uncounted)
      diagnostics_.error(parameter.place, parameter.path,
                         fmt::format("'{}' has no 'count', but the searcher {} is grid",
                                     parameter.path, line_or_flag(name->place)),
                         "write 'count: N', the number of values to try");
  }

  void check_search_length() {
    const GivenValue* name = fields_.given("searcher.name");
    if (!name) return;
    const std::string& kind = name->node->text;
    const GivenValue* length = fields_.given("searcher.max_length");
    if (kind == "async_halving" && length && length->node->kind == YamlKind::integer)
      report(*length, fmt::format("'searcher.max_length' has no unit, which async_halving needs"),
             fmt::format("write 'max_length: {{batches: {}}}'", length->node->text));
    if (kind != "adaptive_asha" && kind != "async_halving") return;
    const GivenValue* time = fields_.given("searcher.max_time");
    const GivenValue* metric = fields_.given("searcher.time_metric");
    if (time && !metric)
      report(*time, "'searcher.max_time' needs 'time_metric', the metric that counts it",
             "write 'time_metric: batches', for example");
    if (metric && !time)
      report(*metric, "'searcher.time_metric' needs 'max_time'", "write 'max_time: N'");
    if (!time && !metric && !length)
      report(*name, fmt::format("searcher '{}' needs 'max_time' or 'max_length'", kind),
             "write 'max_time: N' and 'time_metric: batches', for example");
  }

  void check_profiling() {
    const GivenValue* begin = fields_.given("profiling.begin_on_batch");
    const GivenValue* end = fields_.given("profiling.end_after_batch");
    if (!begin || !end || begin->node->real <= end->node->real) return;
    report(*end,
           fmt::format("'profiling.end_after_batch' is {}, before 'begin_on_batch', {} {}",
                       end->node->text, begin->node->text, line_or_flag(begin->place)),
           "swap the two");
  }

  void check_project() {
    const GivenValue* project = fields_.given("project");
    const GivenValue* workspace = fields_.given("workspace");
    if ((project == nullptr) == (workspace == nullptr)) return;
    const GivenValue& one = project ? *project : *workspace;
    diagnostics_.warn(one.place, std::string(one.field->path),
                      fmt::format("Determined wants 'project' and 'workspace' together; '{}' is "
                                  "missing",
                                  project ? "workspace" : "project"));
  }

  void check_slots() {
    const GivenValue* slots = fields_.given("resources.slots");
    if (slots)
      diagnostics_.warn(slots->place, "resources.slots",
                        "'resources.slots' has no effect on experiments",
                        "did you mean 'slots_per_trial'?");
  }

  // Determined sets these keys itself for the trial's own container.
  void check_containers() {
    constexpr const char* own[] = {"image",
                                   "command",
                                   "args",
                                   "working_dir",
                                   "ports",
                                   "liveness_probe",
                                   "readiness_probe",
                                   "startup_probe",
                                   "lifecycle",
                                   "termination_message_path",
                                   "termination_message_policy",
                                   "image_pull_policy",
                                   "security_context"};
    const GivenValue* containers = fields_.given("environment.pod_spec.spec.containers");
    if (!containers) return;
    for (const YamlNodePtr& container : containers->node->items) {
      const YamlEntry* name = container->find("name");
      if (!name || name->value->text != "determined-container") continue;
      for (const char* key : own)
        if (const YamlEntry* entry = container->find(key))
          diagnostics_.error(place_of(entry->mark), "environment.pod_spec.spec.containers",
                             fmt::format("'{}' of the container '{}' {} cannot be set", key,
                                         name->value->text, line_or_flag(place_of(name->mark))),
                             "remove it: Determined sets it");
    }
  }

 private:
  static bool has_value(const YamlNode& mapping, const char* key) {
    const YamlEntry* entry = mapping.find(key);
    return entry && !entry->value->is_null();
  }

  void report(const GivenValue& given, std::string message, std::string hint) {
    diagnostics_.error(given.place, std::string(given.field->path), std::move(message),
                       std::move(hint));
  }

  const FieldReader& fields_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_experiment_rules(const FieldReader& fields, const Hyperparameters& hyperparameters,
                            Diagnostics& diagnostics) {
  Rules rules(fields, diagnostics);
  rules.check_epochs();
  rules.check_grid(hyperparameters);
  rules.check_search_length();
  rules.check_profiling();
  rules.check_project();
  rules.check_slots();
  rules.check_containers();
}

}  // namespace train
