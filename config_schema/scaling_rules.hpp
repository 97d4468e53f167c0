// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/amounts.hpp"
#include "config_schema/field_reader.hpp"

namespace train {

/// Ray's rules between the keys of `scaling_config`, checked on what the user wrote: an absent
/// `use_gpu` or `use_tpu` is false. `amounts` are those of a worker, given by `amounts_given`
/// (nullptr: none were).
void check_scaling_config(const FieldReader& fields, const Amounts& amounts,
                          const GivenValue* amounts_given, Diagnostics& diagnostics);

}  // namespace train
