// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/gpu_memory_wait.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/fitness/gpu_memory.hpp"

namespace train {

namespace {

constexpr milliseconds first_pause{250};
constexpr milliseconds longest_pause{2'000};

}  // namespace

GpuMemoryWait::GpuMemoryWait(Loop& loop, AskDevices ask) : loop_(loop), ask_(std::move(ask)) {}

void GpuMemoryWait::begin(const GpuWait& rule, Gpus gpus, Then then) {
  rule_ = rule;
  gpus_ = std::move(gpus);
  then_ = std::move(then);
  begun_ = loop_.now();
  pause_ = first_pause;
  work_ = std::make_unique<Background>(loop_, Background::Idle::goes);
  timer_ = loop_.after(milliseconds(0), [this] { ask(); });
}

void GpuMemoryWait::ask() {
  timer_.reset();
  const auto in_use = std::make_shared<std::string>();
  const auto look = [in_use, ask = ask_, gpus = gpus_, most_used = rule_.most_used] {
    const std::vector<std::string> asked = gpus();
    if (asked.empty() || !ask) return;
    if (const auto report = ask()) *in_use = memory_in_use(*report, asked, most_used);
  };
  if (!work_->run(look, [this, in_use] { handle_answer(*in_use); })) end({});
}

void GpuMemoryWait::handle_answer(const std::string& in_use) {
  if (in_use.empty()) return end({});
  const nanoseconds so_far = loop_.now() - begun_;
  if (so_far >= rule_.limit)
    return end(make_error(
        ErrorClass::host,
        fmt::format("the memory of its GPUs is not free after {} s: {}",
                    so_far / std::chrono::seconds(1), in_use),
        "end what uses it ('nvidia-smi' shows it there), or reset the GPU; 'wait_for_gpu' says how "
        "much may be in use, and for how long"));
  waiting_ = Waiting{in_use, begun_};
  const milliseconds left = std::chrono::ceil<milliseconds>(rule_.limit - so_far);
  timer_ = loop_.after(std::min(pause_, left), [this] { ask(); });
  pause_ = std::min(2 * pause_, longest_pause);
}

void GpuMemoryWait::end(const std::optional<Error>& still_in_use) {
  timer_.reset();
  waiting_.reset();
  if (const Then then = std::exchange(then_, nullptr)) then(still_in_use);
}

void GpuMemoryWait::give_up() {
  if (!then_) return;
  work_.reset();
  end({});
}

}  // namespace train
