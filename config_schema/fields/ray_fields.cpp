// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "config_schema/fields/field_table.hpp"

namespace train {

namespace {

using enum FieldType;
using enum FieldSource;

constexpr std::string_view installs_nothing =
    "nothing is installed on hosts: have it there, and name its interpreter in 'entrypoint'";
constexpr std::string_view starts_no_container = "no containers are started";

constexpr Field scaling_config[] = {
    Field{"scaling_config", mapping, ray, "", "the arguments of Ray's ScalingConfig"},
    Field{"scaling_config.num_workers", integer, ray, "1", "ranks of the trial"}
        .twin_of("resources.num_workers")
        .from(1)
        .to(most_workers),
    Field{"scaling_config.use_gpu", boolean, ray, "false", "each worker takes a GPU"},
    Field{"scaling_config.use_tpu", boolean, ray, "false", "each worker takes TPU chips"},
    Field{"scaling_config.resources_per_worker", mapping, ray, "",
          "what one worker takes; default: CPU: 1, or GPU: 1 with use_gpu"}
        .twin_of("resources.resources_per_worker")
        .read_apart(),
    Field{"scaling_config.resources_per_worker.CPU", number, ray, "", "CPUs; counted, not enforced"}
        .from(0)
        .to(most_of_one),
    Field{"scaling_config.resources_per_worker.GPU", number, ray, "",
          "GPUs; below 1, workers share one; above 1 it must be whole"}
        .from(0)
        .to(most_of_one),
    Field{"scaling_config.resources_per_worker.TPU", number, ray, "", "TPU chips: 1, 2, 4 or 8"}
        .from(0)
        .to(most_of_one),
    Field{"scaling_config.resources_per_worker.memory", bytes, ray, "",
          "bytes, or a size such as 16GiB; counted, not enforced"},
    Field{"scaling_config.resources_per_worker.*", number, ray, "",
          "a resource of any other name, which hosts declare"}
        .from(0)
        .to(most_of_one),
    Field{"scaling_config.accelerator_type", string, ray, "",
          "only hosts with this accelerator: Ray's constant, such as A100"},
    Field{"scaling_config.topology", string, ray, "", "shape of a TPU slice, such as 4x4"},
    Field{"scaling_config.placement_strategy", string, ray, "PACK", "how ranks are laid on hosts"}
        .twin_of("resources.placement")
        .one_of("PACK|SPREAD|STRICT_PACK|STRICT_SPREAD"),
    Field{"scaling_config.trainer_resources", mapping, ray, "{CPU: 1}",
          "what the trainer takes on the host of rank 0, where hosts say what they have"}
        .read_apart(),
    Field{"scaling_config.trainer_resources.CPU", number, ray, "", "CPUs"}.from(0).to(most_of_one),
    Field{"scaling_config.trainer_resources.GPU", number, ray, "", "GPUs, kept from the workers"}
        .from(0)
        .to(most_of_one),
    Field{"scaling_config.trainer_resources.TPU", number, ray, "", "TPU chips: none"}.from(0).to(0),
    Field{"scaling_config.trainer_resources.memory", bytes, ray, "",
          "bytes, or a size such as 16GiB"},
    Field{"scaling_config.trainer_resources.*", number, ray, "", "a resource of any other name"}
        .from(0)
        .to(most_of_one),
    Field{"scaling_config.label_selector", open | list, ray, "",
          "labels that the hosts of all workers have, or a list of them by worker"},
    Field{"scaling_config.label_selector.*", string, ray, "",
          "what it must be: value, !value, in(a,b), !in(a,b), exists(), !exists()"},
    Field{"scaling_config.label_selector[]", mapping, ray, "", "labels for one worker"},
    Field{"scaling_config.label_selector[].*", string, ray, "",
          "what it must be: value, !value, in(a,b), !in(a,b), exists(), !exists()"},
};

constexpr Field around_it[] = {
    Field{"torch_config", mapping, ray, "", "the arguments of Ray's TorchConfig"},
    Field{"torch_config.backend", string, ray, "auto", "the collective library"}
        .twin_of("backend")
        .one_of("auto|nccl|gloo|mpi|ucc"),
    Field{"torch_config.init_method", string, ray, "env",
          "how ranks find each other: by their environment"}
        .one_of("env"),
    Field{"torch_config.timeout_s", integer, ray, "1800",
          "seconds that a collective may take; the script says it to init_process_group"}
        .from(1)
        .no_effect(),
    Field{"runtime_env", mapping, ray, "", "Ray's runtime environment of the ranks"},
    Field{"runtime_env.env_vars", mapping, ray, "",
          "variables of every rank, as in environment.variables"}
        .read_apart(),
    Field{"runtime_env.env_vars.*", string | number | boolean, ray, "",
          "the value of one variable"},
    Field{"runtime_env.working_dir", string, ray, "",
          "a folder of this machine that goes to the hosts, as with --context"},
    Field{"runtime_env.config", open, ray, "", "how Ray sets the environment up"}.no_effect(),
    Field{"runtime_env.excludes", any, ray, "", "write the patterns to .trainignore"}.forbidden(),
    Field{"runtime_env.pip", any, ray, "", installs_nothing}.forbidden(),
    Field{"runtime_env.uv", any, ray, "", installs_nothing}.forbidden(),
    Field{"runtime_env.conda", any, ray, "", installs_nothing}.forbidden(),
    Field{"runtime_env.py_modules", any, ray, "", "put them into working_dir"}.forbidden(),
    Field{"runtime_env.image_uri", any, ray, "", starts_no_container}.forbidden(),
    Field{"runtime_env.container", any, ray, "", starts_no_container}.forbidden(),
};

// Keys of `scaling_config` that may be at the top of an experiment instead.
constexpr std::string_view at_the_top =
    "use_gpu|use_tpu|accelerator_type|topology|placement_strategy|label_selector";

std::vector<Field> all_ray_fields() {
  constexpr std::size_t prefix = std::string_view("scaling_config.").size();
  std::vector<Field> all(std::begin(scaling_config), std::end(scaling_config));
  for (const Field& field : scaling_config) {
    const std::string_view path = field.path.substr(std::min(prefix, field.path.size()));
    const std::string_view key = path.substr(0, path.find_first_of(".["));
    if (!is_one_of(key, at_the_top)) continue;
    const bool is_twin = key == path && field.twin.empty();
    all.push_back(field.with(&Field::path, path).twin_of(is_twin ? field.path : field.twin));
  }
  all.insert(all.end(), std::begin(around_it), std::end(around_it));
  return all;
}

}  // namespace

std::span<const Field> ray_fields() {
  static const std::vector<Field> all = all_ray_fields();
  return all;
}

}  // namespace train
