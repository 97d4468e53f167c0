// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "examples/nccl_allreduce/figures.hpp"
#include "examples/nccl_allreduce/result.hpp"

namespace nccl_allreduce {

/// What one rank is to do, from its flags and from the variables that its launcher has set.
struct Settings {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string master_address;  // with one rank, it may be empty
  int master_port = 0;
  std::string job;                             // the same for all ranks of one attempt of a task
  std::optional<int> device_index;             // the first of TRAIN_DEVICE_INDICES
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES
  std::string metrics_file;                    // TRAIN_METRICS_FILE, or empty
  SizeLadder sizes;
  int iterations = 20;
  std::chrono::seconds timeout{60};      // for each step: to meet, to join, one all-reduce
  std::string library = "libnccl.so.2";  // as dlopen looks for it
  bool help = false;
};

/// Reads all of it, and names everything that is wrong at once. Without RANK and WORLD_SIZE the
/// program is the only rank.
Result<Settings> read_settings(const std::vector<std::string>& flags,
                               const std::function<const char*(const char*)>& variable);

/// Which of the `visible` GPUs, counted from 0, is this rank's: the first of TRAIN_DEVICE_INDICES,
/// else the one at LOCAL_RANK, or the only one that a launcher has made visible.
Result<int> device_of(const Settings& settings, int visible);

/// What --help says.
extern const char* const help_text;

}  // namespace nccl_allreduce
