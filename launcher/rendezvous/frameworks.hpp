// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/rendezvous/variables.hpp"

namespace train {

/// Whether the process of a host starts the workers there itself, as torchrun does, and its
/// environment is theirs. With the other frameworks a process per host is one worker.
bool is_host_launcher(const ExperimentConfig& experiment);

/// What the ranks of the framework find each other by: torchrun's worker environment, or with
/// `processes: per_host` the arguments of torchrun itself as `PET_*`; what DeepSpeed adds to that;
/// jax's; TensorFlow's; Horovod's; Open MPI's; nothing.
void add_rendezvous(const RankView& view, Variables& variables);

/// The value of TF_CONFIG for the worker at `index` of a cluster whose workers listen on these
/// "address:port" (numeric), in order: the first is TensorFlow's chief.
/// Source: TensorFlow's guide "Multi-worker training with Keras", "TF_CONFIG".
std::string tensorflow_config(const std::vector<std::string>& workers, int index);

/// The bytes of the longest TF_CONFIG of these workers, with the name of the variable.
std::size_t tensorflow_config_size(const std::vector<std::string>& workers);

}  // namespace train
