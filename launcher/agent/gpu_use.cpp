// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/gpu_use.hpp"

#include <algorithm>

#include "launcher/frames/fields.hpp"
#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

namespace {

struct GpuUses {
  std::vector<GpuUse> devices;
};

std::int64_t ranks_with(int gpu, const GpusOfRanks& gpus) {
  return std::count_if(gpus.begin(), gpus.end(), [gpu](const auto& entry) {
    return std::find(entry.second.begin(), entry.second.end(), gpu) != entry.second.end();
  });
}

}  // namespace

void fields(auto& f, Described<GpuUse> auto& use) {
  constexpr int percent = 100;
  f.number("index", use.gpu, 0, most_gpus - 1);
  f.number("busy", use.busy, 0, percent);
  f.number("memory_used", use.memory);
}

void fields(auto& f, Described<GpuUses> auto& uses) { f.list("devices", uses.devices, most_gpus); }

Result<std::vector<GpuUse>> decode_gpu_uses(std::string_view line) {
  auto uses = decode_fields<GpuUses>(line, longest_gpu_uses,
                                     "what the driver says of its GPUs is not understood");
  if (!uses) return tl::make_unexpected(uses.error());
  return std::move(uses->devices);
}

void add_gpu_use(UsageOfRank& used, const GpusOfRanks& gpus, const std::vector<GpuUse>& uses) {
  constexpr std::int64_t thousandths_of_percent = 10;
  const auto own = gpus.find(used.rank);
  if (own == gpus.end() || own->second.empty()) return;
  std::optional<std::int64_t> busy = 0;
  std::optional<std::uint64_t> memory = 0;
  for (const int gpu : own->second) {
    const auto use = std::find_if(uses.begin(), uses.end(),
                                  [gpu](const GpuUse& each) { return each.gpu == gpu; });
    if (use == uses.end()) return;
    const std::int64_t ranks = ranks_with(gpu, gpus);
    if (!use->busy) busy.reset();
    if (!use->memory) memory.reset();
    if (busy) *busy += *use->busy * thousandths_of_percent / ranks;
    if (memory) *memory += *use->memory / static_cast<std::uint64_t>(ranks);
  }
  used.usage.gpu = busy;
  used.usage.gpu_memory = memory;
}

}  // namespace train
