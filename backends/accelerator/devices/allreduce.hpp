// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace train::devices {

/// `train-devices allreduce RANK WORLD DEVICE LIBNCCL LARGEST`, from its second word on: one rank
/// of NCCL's all-reduce, on one GPU. It writes lines to standard output
/// (launcher/fitness/allreduce_report.hpp), and reads the NCCL id of the ranks from standard input.
/// Returns 0 on success; on failure it ends the process with code 1.
int run_allreduce(int count, const char* const* words);

}  // namespace train::devices
