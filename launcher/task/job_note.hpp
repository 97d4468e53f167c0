// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

/// What a machine keeps of a task that it has submitted as a job of Slurm. The record of the task
/// itself is made by the launcher in the job.
struct JobNote {
  std::string task;      ///< its id
  std::string job = {};  ///< id in Slurm
  std::string name;
  std::string slots;  ///< of all trials, as a quantity
  std::string user;
  std::string program = {};  ///< absolute path of the `train` that the job runs
  std::int64_t created = 0;  ///< milliseconds since the Unix epoch

  bool operator==(const JobNote&) const = default;
};

/// As one JSON document.
std::string encode_job_note(const JobNote& note);
/// The reverse. Class `no_input` if the text is malformed.
Result<JobNote> decode_job_note(std::string_view text);

}  // namespace train
