// SPDX-License-Identifier: Apache-2.0
// Separate from host_gpus.cpp, which depends on everything that a plan consists of: hosts need only
// this part.
#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

std::string_view to_string(SlotMeaning meaning) {
  switch (meaning) {
    case SlotMeaning::places:
      return "places";
    case SlotMeaning::cuda:
      return "cuda";
    case SlotMeaning::rocm:
      return "rocm";
  }
  return "places";
}

}  // namespace train
