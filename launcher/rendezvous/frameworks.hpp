// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/rendezvous/tensorflow_config.hpp"
#include "launcher/rendezvous/variables.hpp"

namespace train {

/// Whether the process of a host starts the workers there itself, as torchrun does, and its
/// environment is theirs. With the other frameworks a process per host is one worker.
bool is_host_launcher(const ExperimentConfig& experiment);

/// What the ranks of the framework find each other by: torchrun's worker environment, or with
/// `processes: per_host` the arguments of torchrun itself as `PET_*`; what DeepSpeed adds to that;
/// jax's; TensorFlow's; Horovod's; Open MPI's; nothing.
void add_rendezvous(const RankView& view, Variables& variables);

}  // namespace train
