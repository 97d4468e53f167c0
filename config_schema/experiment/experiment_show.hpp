// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"

namespace train {

/// An experiment as it counts: what the file and the overrides say, with the defaults of what they
/// leave out, in the order of the manual. Reading it gives the same experiment. Logins of other
/// services are replaced by "(redacted)". The mark of a default has the text "default".
Result<YamlNodePtr> effective_experiment(const SourceText& source,
                                         const ExperimentOverrides& overrides);

}  // namespace train
