// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/kernels.hpp"

namespace nccl_allreduce {
namespace {

constexpr unsigned threads = 256;
constexpr std::size_t most_blocks = 4096;

unsigned blocks_for(std::size_t count) {
  const std::size_t blocks = (count + threads - 1) / threads;
  return static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks);
}

__global__ void fill(float* values, std::size_t count, float of_rank) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    values[i] = static_cast<float>(i % position_period) + of_rank;
}

__global__ void count_wrong(const float* values, std::size_t count, float ranks, float of_ranks,
                            unsigned long long* wrong) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    if (values[i] !=
        static_cast<float>(i % position_period) * ranks + of_ranks)  // NaN is not equal
      atomicAdd(wrong, 1ULL);
}

}  // namespace

cudaError_t launch_fill(float* values, std::size_t count, int rank, cudaStream_t stream) {
  fill<<<blocks_for(count), threads, 0, stream>>>(values, count,
                                                  static_cast<float>(rank % rank_period));
  return cudaGetLastError();
}

cudaError_t launch_count_wrong(const float* values, std::size_t count, int ranks,
                               std::uint64_t* wrong, cudaStream_t stream) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t), "atomicAdd has no other type");
  count_wrong<<<blocks_for(count), threads, 0, stream>>>(
      values, count, static_cast<float>(ranks), rank_share(ranks),
      reinterpret_cast<unsigned long long*>(wrong));
  return cudaGetLastError();
}

}  // namespace nccl_allreduce
