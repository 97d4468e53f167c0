// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace train {

/// Exactly the variables that the rank gets in addition to its host's session environment, sorted
/// by name, for the attempt after `restarts` restarts. Computed on demand, in time that does not
/// depend on the number of ranks.
std::vector<EnvironmentEntry> environment_of(const Plan& plan, int rank, int restarts = 0);

/// Whether the hosts probe each other before the ranks start (`network`): only for several hosts
/// whose ranks communicate.
bool looks_for_networks(const Plan& plan);

/// The folder of a trial's checkpoints, on every host: absolute, inside that of the experiment's
/// `checkpoint_storage`; empty if there is none.
std::string checkpoint_directory(const ExperimentConfig& experiment, const std::string& task_id,
                                 int trial);
/// Fills it in, if the environment has an entry for it.
void fill_in_checkpoints(std::vector<EnvironmentEntry>& environment, const std::string& directory);

/// A line for each group of variables of the experiment or of a host that `train` sets itself, so
/// that the given value is not used; and for other variables that the ranks do not get.
std::vector<std::string> environment_warnings(const Plan& plan);

/// The maximum length in bytes of one argument or one variable ("NAME=value") of a program on
/// Linux: 32 pages of 4 KiB, minus one byte for the terminating zero (execve(2), MAX_ARG_STRLEN).
inline constexpr std::size_t longest_variable = (128U << 10) - 1;

/// Whether Linux accepts a variable with this name and value.
bool is_short_enough(std::string_view name, std::string_view value);

/// What is wrong with a variable that is too long for Linux; nothing if it is not. `key` names it
/// in the input; may be empty.
std::optional<Diagnostic> oversized_variable(const std::string& name, const std::string& value,
                                             const Place& place, const std::string& key);

/// A file that the agents write into the run directory of their host before ranks are started,
/// readable only by the user.
struct RunFile {
  std::string name;
  std::string text;

  bool operator==(const RunFile&) const = default;
};

inline constexpr const char* hyperparameters_file_name = "hparams.json";
inline constexpr const char* data_file_name = "data.json";

/// If `hang_stacks` is set, Python imports this module when a process of a rank starts: it comes
/// first on PYTHONPATH. In the folder that the variable names it makes a file, which shows that the
/// process can be asked for its stacks.
inline constexpr const char* hang_stacks_variable = "TRAIN_HANG_STACKS";
inline constexpr const char* hang_stacks_module_name = "sitecustomize.py";
std::string hang_stacks_module();

/// A Python module that ranks find in the run directory of their host: `train_report.py`.
inline constexpr const char* report_module_name = "train_report.py";
std::string report_module();
/// The program with which ranks report, in the same directory.
inline constexpr const char* report_program_name = "train";

/// JSON that does not fit into TRAIN_HPARAMS and TRAIN_DATA is written to files, named by
/// TRAIN_HPARAMS_FILE and TRAIN_DATA_FILE.
std::vector<RunFile> run_files(const ExperimentConfig& experiment);

/// Arguments and variables that Linux would refuse, with the place where they were written; also a
/// TF_CONFIG of so many workers that it is too long even with the shortest addresses.
std::vector<Diagnostic> oversized_variables(const Plan& plan);

/// The refusal of a TF_CONFIG of this many bytes.
Diagnostic oversized_tensorflow_config(int workers, std::size_t bytes);

}  // namespace train
