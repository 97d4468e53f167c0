// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "launcher/rendezvous/frameworks.hpp"
#include "launcher/rendezvous/rank_environment.hpp"

namespace train {

void Variables::set(EnvironmentEntry entry) {
  entries_.insert_or_assign(entry.name, std::move(entry));
}

void Variables::set(const std::string& name, std::string text) {
  entries_[name] = {.name = name, .text = std::move(text)};
}

void Variables::set_at_launch(const std::string& name, AtLaunch fact, std::string of) {
  entries_[name] = {.name = name, .text = std::move(of), .at_launch = fact};
}

void Variables::set_default(EnvironmentEntry entry) {
  entry.is_default = true;
  entries_.try_emplace(entry.name, entry);
}

std::vector<EnvironmentEntry> Variables::entries() const {
  std::vector<EnvironmentEntry> all;
  all.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) all.push_back(entry);
  return all;
}

namespace {

std::string flag(bool value) { return value ? "1" : "0"; }

void set_number(Variables& variables, const char* name, const std::optional<std::uint64_t>& value) {
  if (value) variables.set(name, fmt::format("{}", *value));
}

// The number of workers that read this environment.
int workers_of(const RankView& view) {
  return is_host_launcher(view.plan.experiment) ? view.host.worker_count : 1;
}

// The workers of a host's launcher share its environment, so a share is set only if it is the same
// for each of them; they compute the offsets themselves.
void add_rank_batch(const RankView& view, Variables& variables) {
  const auto workers = static_cast<std::uint64_t>(workers_of(view));
  if (!view.rank.batch_size || *view.rank.batch_size % workers != 0) return;
  variables.set("TRAIN_BATCH_SIZE", fmt::format("{}", *view.rank.batch_size / workers));
  if (workers == 1) set_number(variables, "TRAIN_BATCH_OFFSET", view.rank.batch_offset);
}

// The interface from the hosts file, else the one that the hosts detect.
void add_interface(const RankView& view, Variables& variables) {
  const std::string& declared = view.host.host.interface;
  if (view.plan.trial.hosts.size() < 2) return;
  if (declared.empty() && !looks_for_networks(view.plan)) return;
  const bool is_found = declared.empty();
  const AtLaunch fact = is_found ? AtLaunch::network_interface : AtLaunch::no;
  variables.set_default({"NCCL_SOCKET_IFNAME", is_found ? "" : "=" + declared,
                         is_found ? AtLaunch::nccl_interface : AtLaunch::no});
  variables.set_default({"GLOO_SOCKET_IFNAME", declared, fact});
  if (view.plan.experiment.framework == Framework::horovod)
    variables.set_default({"HOROVOD_GLOO_IFACE", declared, fact});
}

// The workers of a host's launcher inherit the value, so it is that of one worker.
void add_threads(const RankView& view, Variables& variables) {
  const int sharers =
      is_host_launcher(view.plan.experiment) ? view.host.worker_count : view.host.rank_count;
  const Quantity cpus = view.plan.experiment.needs.cpus * (view.host.worker_count / sharers);
  if (!cpus.is_zero())
    variables.set_default("OMP_NUM_THREADS",
                          std::to_string(std::max<std::int64_t>(1, cpus.whole())));
  else if (view.plan.experiment.cpu_binding != CpuBinding::none)
    variables.set_default({"OMP_NUM_THREADS", std::to_string(workers_of(view)), AtLaunch::threads});
  else if (sharers > 1)
    variables.set_default("OMP_NUM_THREADS", "1");
}

// A value that is too long for a variable is written to a file.
void add_json(const std::string& name, const std::string& json, AtLaunch file,
              Variables& variables) {
  if (is_short_enough(name, json))
    variables.set(name, json);
  else
    variables.set_at_launch(name + "_FILE", file);
}

// "optimizer.lr" is OPTIMIZER_LR.
std::string in_capitals(const std::string& name) {
  std::string text;
  for (const char byte : name) {
    const bool is_small = byte >= 'a' && byte <= 'z';
    const bool is_plain = (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
    if (is_small)
      text += static_cast<char>(byte - 'a' + 'A');
    else
      text += is_plain ? byte : '_';
  }
  return text;
}

// Each value by its name, in groups by its whole path. If two have the same name, it is ambiguous
// and neither is set.
void collect_values(const nlohmann::json& values, const std::string& prefix,
                    std::map<std::string, std::optional<std::string>>& named) {
  for (const auto& [key, value] : values.items()) {
    const std::string name = prefix + '_' + in_capitals(key);
    if (value.is_object()) {
      collect_values(value, name, named);
      continue;
    }
    std::string text = value.is_string()
                           ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const bool can_be_told = !value.is_null() && text.find('\0') == text.npos;
    const bool is_new = named.emplace(name, std::nullopt).second;
    if (is_new && can_be_told) named[name] = std::move(text);
    if (!is_new) named[name].reset();
  }
}

// For scripts that take flags: python3 train.py --lr $TRAIN_HPARAM_LR.
void add_values(const std::string& hyperparameters_json, Variables& variables) {
  const auto values = nlohmann::json::parse(hyperparameters_json, nullptr, false);
  std::map<std::string, std::optional<std::string>> named;
  if (values.is_object()) collect_values(values, "TRAIN_HPARAM", named);
  for (auto& [name, text] : named)
    if (text) variables.set(name, std::move(*text));
}

}  // namespace

void add_own(const RankView& view, Variables& variables) {
  const ExperimentConfig& experiment = view.plan.experiment;
  const Trial& trial = view.plan.trial;
  variables.set_at_launch("TRAIN_TASK_ID", AtLaunch::task_id);
  variables.set_at_launch("TRAIN_RUN_DIR", AtLaunch::run_directory);
  variables.set_at_launch("TRAIN_METRICS_FILE", AtLaunch::metrics_file);
  variables.set_at_launch("TRAIN_HEARTBEAT_FILE", AtLaunch::heartbeat_file);
  variables.set_at_launch("TRAIN_STOP_FILE", AtLaunch::stop_file);
  if (experiment.hang_stacks)
    variables.set_at_launch(hang_stacks_variable, AtLaunch::run_directory);
  variables.set("TRAIN_TRIAL_ID", std::to_string(trial.trial));
  set_number(variables, "TRAIN_TRIAL_SEED", experiment.trial_seed);
  const CheckpointStorage& checkpoints = experiment.checkpoints;
  if (!checkpoints.directory.empty())
    variables.set_at_launch("TRAIN_CHECKPOINT_DIR", AtLaunch::checkpoint_directory);
  if (!checkpoints.json.empty())
    variables.set(
        {"TRAIN_CHECKPOINT_STORAGE", checkpoints.json, AtLaunch::no, checkpoints.has_secrets});
  variables.set("TRAIN_RESTART_COUNT", std::to_string(view.restarts));
  if (experiment.searched.empty()) {
    add_json("TRAIN_HPARAMS", experiment.hyperparameters_json, AtLaunch::hyperparameters_file,
             variables);
    if (variables.has("TRAIN_HPARAMS")) add_values(experiment.hyperparameters_json, variables);
  } else {
    variables.set_at_launch("TRAIN_HPARAMS", AtLaunch::hyperparameters);
  }
  add_json("TRAIN_DATA", experiment.data_json, AtLaunch::data_file, variables);
  variables.set("TRAIN_AGGREGATION_FREQUENCY", std::to_string(experiment.aggregation_frequency));
  variables.set("TRAIN_GRADIENT_COMPRESSION", flag(experiment.gradient_compression));
  variables.set("TRAIN_AVERAGE_TRAINING_METRICS", flag(experiment.average_training_metrics));
  variables.set("TRAIN_AUTO_TUNE_TENSOR_FUSION", flag(experiment.auto_tune_tensor_fusion));
  if (trial.backend == CollectiveBackend::automatic)
    variables.set_at_launch("TRAIN_BACKEND", AtLaunch::backend);
  else
    variables.set("TRAIN_BACKEND", std::string(to_string(trial.backend)));
  set_number(variables, "TRAIN_GLOBAL_BATCH_SIZE", trial.global_batch_size);
  set_number(variables, "TRAIN_PER_SLOT_BATCH_SIZE", trial.per_slot_batch_size);
  set_number(variables, "TRAIN_EFFECTIVE_BATCH_SIZE", trial.effective_batch_size);
  add_rank_batch(view, variables);
}

void add_defaults(const RankView& view, Variables& variables) {
  add_interface(view, variables);
  add_threads(view, variables);
  const Framework framework = view.plan.experiment.framework;
  if (framework == Framework::torch || framework == Framework::deepspeed)
    variables.set_default("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  variables.set_default("PYTHONUNBUFFERED", "1");
  variables.set_default("PYTHONFAULTHANDLER", "1");
}

}  // namespace train
