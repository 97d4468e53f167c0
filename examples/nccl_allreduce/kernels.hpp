// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace nccl_allreduce {

// Rank r gives (i mod 127) + (r mod 8) as its element i. The sum of n ranks is then a whole number
// below n * 134, which a float holds exactly for up to 125,000 ranks, in whichever order NCCL adds.
constexpr int position_period = 127;
constexpr int rank_period = 8;

/// Fills `values` with what `rank` gives.
cudaError_t launch_fill(float* values, std::size_t count, int rank, cudaStream_t stream);

/// Adds to `wrong` how many of `values` are not the sum over `ranks` ranks.
cudaError_t launch_count_wrong(const float* values, std::size_t count, int ranks,
                               std::uint64_t* wrong, cudaStream_t stream);

/// What the ranks below `ranks` add to each element beside its position.
constexpr float rank_share(int ranks) {
  const int whole = ranks / rank_period;
  const int rest = ranks % rank_period;
  const int share = whole * (rank_period * (rank_period - 1) / 2) + rest * (rest - 1) / 2;
  return static_cast<float>(share);
}

}  // namespace nccl_allreduce
