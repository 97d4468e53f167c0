// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace train {

/// Exactly the variables that the rank gets on top of its host's session environment, sorted by
/// name, in the attempt that follows so many restarts. Made when it is asked for, in time that does
/// not depend on the number of ranks.
std::vector<EnvironmentEntry> environment_of(const Plan& plan, int rank, int restarts = 0);

/// Whether the hosts look for each other before its ranks start (`network`): several hosts, whose
/// ranks meet.
bool looks_for_networks(const Plan& plan);

/// The folder of a trial's checkpoints, on every host: absolute, inside that of the experiment's
/// `checkpoint_storage`; empty where that names none.
std::string checkpoint_directory(const ExperimentConfig& experiment, const std::string& task_id,
                                 int trial);
/// Fills it in, where the environment asks for it.
void fill_in_checkpoints(std::vector<EnvironmentEntry>& environment, const std::string& directory);

/// A line for each group of variables of the experiment or of a host that `train` sets itself, so
/// that the value given is not used; and for what the ranks do not get for another reason.
std::vector<std::string> environment_warnings(const Plan& plan);

/// What Linux takes for one argument or one variable ("NAME=value") of a program, in bytes: 32
/// pages of 4 KiB, of which one byte is the zero at the end (execve(2), MAX_ARG_STRLEN).
inline constexpr std::size_t longest_variable = (128U << 10) - 1;

/// Whether Linux takes a variable with this name and value.
bool is_short_enough(std::string_view name, std::string_view value);

/// A file that the agents write into the run directory of their host before ranks are started,
/// readable for the user alone.
struct RunFile {
  std::string name;
  std::string text;

  bool operator==(const RunFile&) const = default;
};

inline constexpr const char* hyperparameters_file_name = "hparams.json";
inline constexpr const char* data_file_name = "data.json";

/// A module for Python, which ranks find in the run directory of their host: `train_report.py`.
inline constexpr const char* report_module_name = "train_report.py";
std::string report_module();
/// The program with which ranks report, in the same directory.
inline constexpr const char* report_program_name = "train";

/// JSON that does not fit into TRAIN_HPARAMS and TRAIN_DATA: it goes into files, named by
/// TRAIN_HPARAMS_FILE and TRAIN_DATA_FILE.
std::vector<RunFile> run_files(const ExperimentConfig& experiment);

/// Arguments and variables that no Linux takes, with the place where they were written; also a
/// TF_CONFIG of so many workers that no addresses are short enough for it.
std::vector<Diagnostic> oversized_variables(const Plan& plan);

/// The refusal of a TF_CONFIG of so many bytes.
Diagnostic oversized_tensorflow_config(int workers, std::size_t bytes);

}  // namespace train
