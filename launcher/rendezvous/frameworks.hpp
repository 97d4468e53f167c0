// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/rendezvous/tensorflow_config.hpp"
#include "launcher/rendezvous/variables.hpp"

namespace train {

/// Whether the process of a host starts the workers itself, as torchrun does, and they inherit its
/// environment. With the other frameworks a process per host is one worker.
bool is_host_launcher(const ExperimentConfig& experiment);

/// The variables by which the ranks of the framework find each other: torchrun's worker
/// environment, or with `processes: per_host` the arguments of torchrun itself as `PET_*`;
/// DeepSpeed's additions to that; jax's; TensorFlow's; Horovod's; Open MPI's; none.
void add_rendezvous(const RankView& view, Variables& variables);

}  // namespace train
