// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/doctor/machine_facts.hpp"

namespace train {

/// How well something is, worse from one to the next.
enum class Health {
  ok,
  warning,  ///< launches work, but not all that the user may expect
  wrong,    ///< launches fail
};
std::string_view to_string(Health health);

/// One line about the launcher's machine.
struct MachineFinding {
  std::string check;  ///< one word: "ssh", "keys", "state"
  Health health = Health::ok;
  std::string message;
  std::string hint;  ///< the next step; empty if it is ok

  bool operator==(const MachineFinding&) const = default;
};

/// Judges each thing that a launch needs of this machine, in a fixed order; each has at least one
/// finding.
std::vector<MachineFinding> diagnose(const MachineFacts& facts);

/// The worst of them.
Health worst_of(const std::vector<MachineFinding>& findings);

/// The document of `train doctor --json` (`config_schema/fields/doctor.schema.json`), with a final
/// newline.
std::string diagnosis_document(const std::vector<MachineFinding>& findings);

}  // namespace train
