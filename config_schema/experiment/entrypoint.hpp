// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"

namespace train {

/// The entrypoint with more words: appended unchanged to a list, quoted to a shell line; the words
/// themselves if there is no entrypoint.
Entrypoint with_words(Entrypoint entrypoint, const std::vector<std::string>& words);

/// The launcher of one process per device that an entrypoint runs ("torchrun", "accelerate
/// launch"); nothing if it runs none. Examines every simple command of a shell line.
std::optional<std::string> find_host_launcher(const Entrypoint& entrypoint);

/// A script that an interpreter runs.
struct InterpretedScript {
  std::string interpreter;  ///< "python3", without its folder
  std::string path;         ///< absolute, or relative to the working directory
  /// Also searched in PATH, as shells do for a name without a slash.
  bool is_searched_in_path = false;
  std::string program = {};  ///< the interpreter as written: "/opt/venv/bin/python3"
};

/// The script of an entrypoint whose first word is a known interpreter: the second word, if that is
/// the plain path of a file. Nothing for options (`python3 -m ...`), for a shell line of more than
/// one command, and if a shell would expand the first words.
std::optional<InterpretedScript> find_script(const Entrypoint& entrypoint);

/// Why a `determined.launch.*` wrapper cannot be unwrapped, and what to write.
struct WrapperTrouble {
  std::string message;
  std::string hint;
};

/// An entrypoint without its `python3 -m determined.launch.X` wrapper.
struct Unwrapped {
  Entrypoint entrypoint;
  std::string wrapper;  ///< "determined.launch.torch_distributed"; empty: there was none
  std::optional<WrapperTrouble> trouble;
};

/// Removes the wrapper: Determined's wrappers start one process per slot, which train does itself,
/// so each rank runs the wrapped command. Their form: `[flags --] command...` or `--trial
/// module:Class`.
Unwrapped unwrap_determined(const Entrypoint& entrypoint);

/// Whether this is a trial class ("model_def:MNistTrial") of an old Determined file.
bool is_trial_class(const Entrypoint& entrypoint);

}  // namespace train
