// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "launcher/frames/fields.hpp"
#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

void fields(auto& f, Described<HostGpus> auto& gpus) {
  constexpr int most = static_cast<int>(most_gpus);
  f.numbers("cuda", gpus.cuda, 0, most - 1, most_gpus);
  f.numbers("rocm", gpus.rocm, 0, most - 1, most_gpus);
  for (const auto* devices : {&gpus.cuda, &gpus.rocm})
    f.check([&] { return std::set(devices->begin(), devices->end()).size() == devices->size(); },
            "a GPU that is counted twice");
  f.number("split", gpus.split, 0, most);
  f.number("hidden", gpus.hidden, 0, 2 * most);
  f.number_of("obstacle", gpus.obstacle, HostGpus::Obstacle::driver_unknown);
}

}  // namespace train
