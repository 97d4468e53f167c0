// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// The tables of keys in the manual, made from the tables of fields: mdoc, several lines, one list
/// for each group of keys.

/// What an experiment may hold and `train` reads, and what it knows without using it.
std::string manual_of_experiment_keys();
std::string manual_of_idle_keys();
/// The kinds of searched hyperparameters, each with its keys.
std::string manual_of_hyperparameter_kinds();
/// Keys that are never taken, and words of older versions, with what to write instead.
std::string manual_of_refused_keys();
/// What a hosts file in YAML may hold at its top, and for each host.
std::string manual_of_host_keys();

}  // namespace train
