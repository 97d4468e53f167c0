// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace train::devices {

/// `train-devices allreduce RANK WORLD DEVICE LIBNCCL LARGEST`, from its second word on: one rank
/// of an all-reduce of NCCL, on one GPU. It answers on standard output in lines
/// (launcher/fitness/allreduce_report.hpp), and reads there by what id the ranks meet. 0 when it
/// has come to its end; else it ends the process with code 1.
int run_allreduce(int count, const char* const* words);

}  // namespace train::devices
