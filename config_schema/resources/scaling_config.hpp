// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/fields/amounts.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// Whether the experiment is written with Ray's keys, for which an absent `use_gpu` or `use_tpu`
/// means false: with a `scaling_config`, or with one of these two keys at the top.
bool speaks_of_ray(const FieldReader& fields);

/// Ray's rules for combinations of keys of `scaling_config`, which may also be at the top.
/// `amounts` are those of a worker, given by `amounts_given` (nullptr: not given).
void check_scaling_config(const FieldReader& fields, const Amounts& amounts,
                          const GivenValue* amounts_given, Diagnostics& diagnostics);

}  // namespace train
