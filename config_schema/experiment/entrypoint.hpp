// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"

namespace train {

/// The entrypoint with more words: appended as they are to a list, quoted to a shell line; the
/// words themselves when there was none.
Entrypoint with_words(Entrypoint entrypoint, const std::vector<std::string>& words);

/// The launcher of one process per device that an entrypoint runs ("torchrun", "accelerate
/// launch"); nothing when it runs none. Every simple command of a shell line is looked at.
std::optional<std::string> find_host_launcher(const Entrypoint& entrypoint);

/// A script that an interpreter is told to run.
struct InterpretedScript {
  std::string interpreter;           ///< "python3", without its folder
  std::string path;                  ///< absolute, or from the working directory
  bool is_searched_in_path = false;  ///< as well, as shells do with a name without a slash
  std::string program = {};          ///< the interpreter as it is written: "/opt/venv/bin/python3"
};

/// The script that the first word of an entrypoint, an interpreter that is known, runs: the second
/// word, where that is the plain path of a file. Nothing for options (`python3 -m ...`), and for a
/// shell line of more than one command or whose first words a shell would expand.
std::optional<InterpretedScript> find_script(const Entrypoint& entrypoint);

/// What is wrong with a `determined.launch.*` wrapper that cannot be unwrapped, and what to write.
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

/// Determined's wrappers start one process per slot; train does that itself, so the command that
/// they wrap is what each rank runs. Their form: `[flags --] command...` or `--trial module:Class`.
Unwrapped unwrap_determined(const Entrypoint& entrypoint);

/// Whether this is a trial class ("model_def:MNistTrial") of an old Determined file.
bool is_trial_class(const Entrypoint& entrypoint);

}  // namespace train
